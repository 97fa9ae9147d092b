package rookerytest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// configRows are the configs of a spec: by reference, from the bucket on the bus.
func configRows() []specRow {
	const (
		first  = "listen 80 # the first of the bucket\n"
		second = "listen 81 # the second of the bucket\n"
		fields = `"user":"1234:5678","read_only_root":true,"restart":{"delay":"10ms","max_delay":"100ms"},` +
			`"configs":[{"name":"web-conf","path":"/etc/web.conf","mode":"0440"},{"name":"b"}]`
	)
	return []specRow{
		{"configs", fields, func(s *seen) {
			heard := s.overhear("rookery.>")
			s.config("demo.b", "b")
			s.offline(events.OfflineConfigMissing, `"nats kv put rookery_configs demo.web-conf < FILE"`)
			s.config("demo.web-conf", first)
			s.want("the file", s.proc("root/etc/web.conf"), first)
			s.want("the file at the usual path", s.proc("root/run/configs/b"), "b")
			s.want("who may read it", s.mode("etc/web.conf"), "-r--r----- of 1234:5678")
			s.want("who may read it by default", s.mode("run/configs/b"), "-r--r--r-- of 1234:5678")
			event[events.CommandSucceeded](s)
			s.config("demo.web-conf", second)
			s.want("the file of what runs", s.proc("root/etc/web.conf"), first)
			s.revised(strings.TrimPrefix(fields, `"user":"1234:5678",`))
			s.want("the file of the next revision", s.proc("root/etc/web.conf"), second)
			if all := s.podman("secret", "ls"); strings.Contains(all, "rookery.") {
				s.Errorf("Podman has secrets of configs still: %s", all)
			}
			for _, value := range []string{first, second} {
				s.silent(strings.TrimSpace(value), heard.String())
				if strings.Contains(s.inspect("{{json .}}"), strings.TrimSpace(value)) {
					s.Error("Podman says the config's value")
				}
			}
		}},
		{"configs of another namespace", `"configs":[{"name":"other"}]`, func(s *seen) {
			s.config("team.other", first)
			s.config("other", first)
			s.offline(events.OfflineConfigMissing, "no config demo.other")
		}},
		{"configs of sidecars", `"restart":{"delay":"10ms","max_delay":"100ms"},"configs":[{"name":"beside"}],` +
			`"sidecars":[{"name":"proxy","image":"` + podmantest.WebReference + `","args":["-listen",":9090"]}]`, func(s *seen) {
			s.config("demo.beside", first)
			s.want("the file", s.proc("root/run/configs/beside"), first)
			beside := s.podman("inspect", "--format", "{{.State.Pid}}", s.online().Sidecars[0])
			text, err := os.ReadFile(filepath.Join("/proc", beside, "root/run/configs/beside"))
			if err != nil {
				s.Error(err)
			}
			s.want("the file of the sidecar", string(text), first)
		}},
	}
}

func (s *seen) config(key, value string) {
	s.Helper()
	putConfig(s.T, s.Bus(), key, value)
}

// putConfig puts a config as an operator does, and replaces any earlier value.
func putConfig(t *testing.T, b bus.Bus, key, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	k, err := b.Bucket(ctx, bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := k.Get(ctx, key)
	if _, err := k.Put(ctx, key, []byte(value), before.Revision); err != nil {
		t.Fatal(err)
	}
}
