package checker

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// ConfigMark is in every value of a config, and OutputMark in every line that a container prints; both in nothing else.
const (
	ConfigMark = "the-value-of-config"
	OutputMark = "the-output-of"
)

// secretsState is what must not be in a message.
type secretsState struct {
	// configs are the values that each config had, in order, and outputs the keys under which output was kept.
	configs map[string][]configValue
	outputs map[string]bool
}

// configValue is a value that a config had, and until when; zero for now.
type configValue struct {
	text  string
	until time.Time
}

func newSecrets() secretsState {
	return secretsState{configs: map[string][]configValue{}, outputs: map[string]bool{}}
}

// Published checks that messages have no value of a config, and no line that a container printed.
func (c *Checker) Published(messages ...events.Message) {
	for _, m := range messages {
		if bytes.Contains(m.Body, []byte(ConfigMark)) || bytes.Contains(m.Body, []byte(OutputMark)) {
			c.breach("P12", "%s has the value of a config, or what a container printed: %s", m.Subject, m.Body)
		}
	}
}

// ConfigPut follows a config that has another value from now on; "" for none.
func (c *Checker) ConfigPut(key, value string) {
	had := c.secrets.configs[key]
	if n := len(had); n > 0 && had[n-1].until.IsZero() {
		had[n-1].until = c.Now()
	}
	if value != "" {
		c.secrets.configs[key] = append(had, configValue{text: value})
	}
}

// configured checks that a container is made with the configs of its spec and no others, of its own namespace, with values that none
// had replaced as the instance was placed.
func (c *Checker) configured(host string, p node.Plan, i *instance) {
	var since time.Time
	if i != nil && !c.rewound {
		since = i.placed
	}
	for _, config := range p.Order.Spec.Configs {
		key := events.ConfigKey(p.Instance.Service.Namespace, config.Name)
		good := slices.ContainsFunc(c.secrets.configs[key], func(v configValue) bool {
			return v.text == string(p.Configs[config.Name]) && (v.until.IsZero() || !v.until.Before(since))
		})
		if !good {
			c.breach("configs", "%s makes a container for %s with %q as config %s, which is none of its values since then",
				host, p.Instance, p.Configs[config.Name], key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Configs)) {
		if !slices.ContainsFunc(p.Order.Spec.Configs, func(config events.Config) bool { return config.Name == name }) {
			c.breach("configs", "%s makes a container for %s with a config %s that its spec does not name", host, p.Instance, name)
		}
	}
}

// OutputKept checks that under a key of an instance stands what its own container printed.
func (c *Checker) OutputKept(key string, value []byte) {
	line := OutputMark + " " + key[:strings.LastIndexByte(key, '.')] + "\n"
	if strings.ReplaceAll(string(value), line, "") != "" || len(value) == 0 {
		c.breach("output", "under %s stands %q, and its container prints %q", key, value, line)
	}
	c.secrets.outputs[key] = true
}

// refers checks that an instance which is offline names output that was kept of its own attempt.
func (c *Checker) refers(i *instance, seen events.InstanceSeen) {
	switch {
	case seen.Output != "" && !c.secrets.outputs[seen.Output]:
		c.breach("output", "%s is offline, and refers to %s, which was never kept", i.id, seen.Output)
	case seen.Output != "" && seen.Output != events.OutputKey(i.id, seen.Attempt):
		c.breach("output", "%s is offline in attempt %d, and refers to %s", i.id, seen.Attempt, seen.Output)
	case seen.Output == "" && seen.Reason == events.OfflineExited && c.calmFor() > settlesWithin:
		c.breach("output", "%s has exited while nothing was broken, and what it printed was not kept", i.id)
	}
}
