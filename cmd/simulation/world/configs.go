package world

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// configNames are the configs that specs name. Each namespace has its own.
var configNames = []string{"a", "b"}

// configs adds configs to the specs of some plans, and draws when clients put and delete these configs.
func (d *drawer) configs() {
	const share, often, mean = 3, 3, 4 * time.Minute
	if d.IntN(share) > 0 {
		return
	}
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind == Command && strings.HasSuffix(a.Subject, ".ensure") && d.IntN(often) == 0 {
			wish := fmt.Sprintf(`"configs":[{"name":%q}],`, configNames[d.IntN(len(configNames))])
			a.Body = strings.Replace(a.Body, `"image":`, wish+`"image":`, 1)
		}
	}
	for at := d.soon(time.Minute); at < d.plan.Lasts; at += d.soon(mean) {
		key := events.ConfigKey(services[d.IntN(len(services))].Namespace, configNames[d.IntN(len(configNames))])
		d.plan.Actions = append(d.plan.Actions, Action{At: at, Kind: Config, Subject: key, N: d.IntN(1 << 30)})
	}
}

// config puts a config as a client does, or sometimes deletes it.
func (w *World) config(a Action) {
	const deletes = 5
	if a.N%deletes == 0 {
		w.putConfig(a.Subject, "")
		return
	}
	w.putConfig(a.Subject, fmt.Sprintf("%s %s %d", checker.ConfigMark, a.Subject, a.N))
}

// putConfig replaces the value of the config. The value "" deletes it.
func (w *World) putConfig(key, value string) {
	k, err := w.server.Bucket(context.Background(), bus.BucketConfigs)
	if err != nil {
		w.breach("configs", "%v", err)
		return
	}
	before, _ := k.Get(context.Background(), key)
	if value == "" {
		err = k.Delete(context.Background(), key, before.Revision)
	} else {
		_, err = k.Put(context.Background(), key, []byte(value), before.Revision)
	}
	if err != nil {
		w.breach("configs", "%v", err)
	}
	w.configs[key] = value != ""
	w.checker.ConfigPut(key, value)
}

// putConfigs puts each config that specs name and that is missing.
func (w *World) putConfigs() {
	for _, s := range services {
		for _, name := range configNames {
			key := events.ConfigKey(s.Namespace, name)
			if !w.configs[key] {
				w.putConfig(key, checker.ConfigMark+" "+key+" at the end")
			}
		}
	}
}
