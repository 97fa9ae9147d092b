package checker

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// enginesState is what engines have done.
type enginesState struct {
	// sick are what a call found unwell, or did not answer: their node may end them.
	sick map[string]bool
	// did is what instances have done that they were asked, and ready the processes that were asked to make ready for their end.
	did   map[events.InstanceID]map[events.Confirmation]bool
	ready map[process]bool
	// finished are the instances whose container ended well by itself.
	finished map[events.InstanceID]bool
	// steps counts what engines did.
	steps int
}

// Step is what a node has its engine do with a container.
type Step struct {
	Node      string
	Container node.Container
	// Runs says that its process runs just before.
	Runs bool
	// Guarded is until when the host's watchdog lets it run, GuardedBefore the same before it was last told; zero where it guards nothing.
	Guarded, GuardedBefore time.Time
}

// Unwell notes what a check found unwell, or a call that came back with nothing.
func (c *Checker) Unwell(key string) { c.engines.sick[key] = true }

// Did follows an instance that did what it was asked.
func (c *Checker) Did(id events.InstanceID, what events.Confirmation) {
	if c.engines.did[id] == nil {
		c.engines.did[id] = map[events.Confirmation]bool{}
	}
	c.engines.did[id][what] = true
}

// Finished follows a container that ended well by itself.
func (c *Checker) Finished(id events.InstanceID) { c.engines.finished[id] = true }

// Prepared checks a container that was made: the log had its instance on that node as the node asked for it. Stale says that the process
// which asked has ended meanwhile.
func (c *Checker) Prepared(host string, made node.Container, p node.Plan, asked time.Time, stale bool) {
	c.engines.steps++
	at := process{host, made.Handle}
	if _, known := c.volumes.plans[at]; !known { // what a later order says is for the next container
		c.volumes.plans[at] = p
	}
	i := c.facts.instances[p.Instance]
	switch {
	case c.rewound:
	case i == nil:
		c.breach("orders", "%s makes a container for %s, which the log does not have", host, p.Instance)
	case i.node != host:
		c.breach("P5", "%s makes a container for %s, which is on %s", host, p.Instance, i.node)
	case i.removed && !i.forgotten && asked.After(i.gone) && !stale:
		c.breach("orders", "%s makes a container for %s, which it has said is removed: it obeys an order of before", host, p.Instance)
	}
	c.configured(host, p, i)
}

// Started checks a container that runs from here on: no other one of its slot lives where two must not.
func (c *Checker) Started(s Step) {
	c.engines.steps++
	c.startsWith(s.Node, s.Container)
	started, i := s.Container.Instance, c.facts.instances[s.Container.Instance]
	exclusive := !s.Guarded.IsZero() || (i != nil && i.window > 0)
	if c.rewound || (!exclusive && !c.keepsVolumes(s.Container)) {
		return
	}
	for _, e := range c.Engines() {
		for _, o := range e.Containers {
			switch {
			case o.State != node.Running || o.Instance.Service != started.Service || o.Instance.Ordinal != started.Ordinal || o.Instance == started:
			case exclusive && e.Guarded[o.Handle]:
				c.breach("P5", "%s begins while %s runs on %s: the slot is exclusive", started, o.Instance, e.Node)
			case c.wentWithNode(started) || c.wentWithNode(o.Instance):
			case e.Node == s.Node && c.keepsVolumes(s.Container) && c.keepsVolumes(o):
				c.breach("volumes", "%s begins while %s runs on %s: two write to the volumes of one slot", started, o.Instance, e.Node)
			}
		}
	}
}

// wentWithNode reports whether the instance was forgotten with its node. Whoever forgets a node says that its machine is gone: one that
// comes back ends what it had while the next instances begin.
func (c *Checker) wentWithNode(id events.InstanceID) bool {
	i := c.facts.instances[id]
	return i != nil && i.forgotten
}

func (c *Checker) keepsVolumes(has node.Container) bool {
	return c.Spec(has.Instance.Service, has.Revision).KeepsVolumes()
}

// Ending checks that a node ends a running container only where the log says so.
func (c *Checker) Ending(s Step) {
	c.engines.steps++
	c.must(!s.Runs || c.engines.sick[s.Container.Instance.String()] || c.mayEnd(s),
		"P9", "%s ends the running container of %s, and the log has it %s", s.Node, s.Container.Instance, c.facts.instances[s.Container.Instance])
}

// mayEnd reports whether the container is one that must go. An exclusive one ends as its window does, or a little before.
func (c *Checker) mayEnd(s Step) bool {
	i := c.facts.instances[s.Container.Instance]
	if c.rewound || c.machine(s.Node).orphans[s.Container.Instance] {
		return true
	}
	return i != nil && (!i.runs() || c.yields(i, s))
}

// yields reports whether the window of an exclusive instance is nearly over, or was before its host was last told.
func (c *Checker) yields(i *instance, s Step) bool {
	until := s.GuardedBefore
	if until.IsZero() {
		until = s.Guarded
	}
	early := i.window/4 + c.Heartbeat // its host may not have heard the last heartbeat
	return i.window > 0 && !until.IsZero() && !c.Now().Before(until.Add(-early))
}

// MakesReady checks that a container which is asked to make ready for its end is one that must go.
func (c *Checker) MakesReady(s Step) {
	c.must(c.mayEnd(s),
		"before-stop", "%s asks %s to make ready for its end, and the log has it %s", s.Node, s.Container.Instance, c.facts.instances[s.Container.Instance])
	c.engines.ready[process{s.Node, s.Container.Handle}] = true
}

// Stopping checks that a running container was asked to make ready, where its spec says so and it is neither unwell nor exclusive. Hook is
// the key of the call that asks.
func (c *Checker) Stopping(s Step, hook string) {
	c.Ending(s)
	i := c.facts.instances[s.Container.Instance]
	if i == nil || s.Container.Role != node.RoleMain || !s.Runs || c.rewound || i.window > 0 || c.engines.sick[s.Container.Instance.String()] || c.engines.sick[hook] {
		return
	}
	of := c.facts.services[i.id.Service]
	if of == nil || i.placed.Before(of.born) {
		return // its service is gone, and its revisions with that
	}
	hooks := of.specs[i.revision].Hooks
	c.must(hooks == nil || hooks.BeforeStop == nil || c.engines.ready[process{s.Node, s.Container.Handle}],
		"before-stop", "%s stops %s, which was not asked to make ready for that", s.Node, s.Container.Instance)
}

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

// configValue is a value that a config had, and until when; zero where it still has it.
type configValue struct {
	text  string
	until time.Time
}

// Published checks that messages have no value of a config, and no line that a container printed.
func (c *Checker) Published(messages ...events.Message) {
	for _, m := range messages {
		c.must(!bytes.Contains(m.Body, []byte(ConfigMark)) && !bytes.Contains(m.Body, []byte(OutputMark)),
			"P12", "%s has the value of a config, or what a container printed: %s", m.Subject, m.Body)
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

// configured checks that a container has the configs of its spec alone, of its namespace, with values of when it was placed or later.
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
		c.must(good, "configs", "%s makes a container for %s with %q as config %s, which is none of its values since then",
			host, p.Instance, p.Configs[config.Name], key)
	}
	c.must(len(p.Configs) == len(p.Order.Spec.Configs),
		"configs", "%s makes a container for %s with configs that its spec does not name", host, p.Instance)
}

// OutputKept checks that under a key of an instance stands what its own container printed.
func (c *Checker) OutputKept(key string, value []byte) {
	line := OutputMark + " " + key[:strings.LastIndexByte(key, '.')] + "\n"
	c.must(strings.ReplaceAll(string(value), line, "") == "" && len(value) > 0,
		"output", "under %s stands %q, and its container prints %q", key, value, line)
	c.secrets.outputs[key] = true
}

// refers checks that an instance which is offline names output that was kept of its own attempt.
func (c *Checker) refers(i *instance, seen events.InstanceSeen) {
	c.must(seen.Output == "" || (c.secrets.outputs[seen.Output] && seen.Output == events.OutputKey(i.id, seen.Attempt)), "output",
		"%s is offline in attempt %d, and refers to %s, which is not its own or was never kept", i.id, seen.Attempt, seen.Output)
	c.must(seen.Output != "" || seen.Reason != events.OfflineExited || c.calmFor() <= settlesWithin, "output",
		"%s has exited while nothing was broken, and what it printed was not kept", i.id)
}
