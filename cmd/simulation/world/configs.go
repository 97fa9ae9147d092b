package world

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// configNames are the configs that people name in specs. Each namespace has its own.
var configNames = []string{"a", "b"}

// configMark is in every value of a config, and in nothing else.
const configMark = "the-value-of-config"

// configs has people of some plans name configs in what they say anyhow, and put and delete them.
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

// configValue is a value that a config had, and until when; zero for now.
type configValue struct {
	text  string
	until time.Time
}

// config has a person put a config, or sometimes delete it.
func (w *World) config(a Action) {
	const deletes = 5
	if a.N%deletes == 0 {
		w.putConfig(a.Subject, "")
		return
	}
	w.putConfig(a.Subject, fmt.Sprintf("%s %s %d", configMark, a.Subject, a.N))
}

// putConfig puts the value whatever was there, and deletes what shall have none.
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
	had := w.judge.configs[key]
	if n := len(had); n > 0 && had[n-1].until.IsZero() {
		had[n-1].until = time.Now()
	}
	if value != "" {
		w.judge.configs[key] = append(had, configValue{text: value})
	}
}

// putConfigs has people put what is missing of all configs that specs name.
func (w *World) putConfigs() {
	for _, s := range services {
		for _, name := range configNames {
			key := events.ConfigKey(s.Namespace, name)
			if had := w.judge.configs[key]; len(had) == 0 || !had[len(had)-1].until.IsZero() {
				w.putConfig(key, configMark+" "+key+" at the end")
			}
		}
	}
}

// configured judges the configs that a container is made with: all that its spec names, with values of its namespace that
// none had replaced as the instance was placed.
func (j *judge) configured(h *host, p node.Plan) {
	var since time.Time
	if i := j.cluster.instances[p.Instance]; i != nil && !j.rewound {
		since = i.since
	}
	for _, c := range p.Order.Spec.Configs {
		key := events.ConfigKey(p.Instance.Service.Namespace, c.Name)
		good := slices.ContainsFunc(j.configs[key], func(v configValue) bool {
			return v.text == string(p.Configs[c.Name]) && (v.until.IsZero() || !v.until.Before(since))
		})
		if !good {
			j.breach("configs", "%s makes a container for %s with %q as config %s, which has none of its values since then: %v",
				h.name, p.Instance, p.Configs[c.Name], key, j.configs[key])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Configs)) {
		if !slices.ContainsFunc(p.Order.Spec.Configs, func(c events.Config) bool { return c.Name == name }) {
			j.breach("configs", "%s makes a container for %s with a config %s that its spec does not name", h.name, p.Instance, name)
		}
	}
}

// discreet holds messages to have no value of a config, and no line that a container has printed.
func (j *judge) discreet(messages ...events.Message) {
	for _, m := range messages {
		if bytes.Contains(m.Body, []byte(configMark)) || bytes.Contains(m.Body, []byte(outputMark)) {
			j.breach("P12", "%s has the value of a config, or what a container printed: %s", m.Subject, m.Body)
		}
	}
}
