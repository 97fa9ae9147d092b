package checker

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// enginesState records what engines have done.
type enginesState struct {
	// sick holds the containers and calls that a check found unhealthy, or that did not answer: their node may end the containers.
	sick map[string]bool
	// did holds the requests that instances have carried out, and ready the processes whose before_stop hook was called.
	did   map[events.InstanceID]map[events.Confirmation]bool
	ready map[process]bool
	// finished holds the instances whose container ended by itself, without an error.
	finished map[events.InstanceID]bool
	// steps counts the steps of engines.
	steps int
}

// Step is one action of an engine on a container, which a node asked for.
type Step struct {
	Node      string
	Container node.Container
	// Runs says that the container's process runs just before the step.
	Runs bool
	// Guarded is the time until which the host's watchdog lets the container run, and GuardedBefore the same before its last update.
	// Both are zero for a container without a watchdog.
	Guarded, GuardedBefore time.Time
}

// Unwell notes a container that a check found unhealthy, or a call that brought no answer.
func (c *Checker) Unwell(key string) { c.engines.sick[key] = true }

// Did follows an instance that carried out a request.
func (c *Checker) Did(id events.InstanceID, what events.Confirmation) {
	if c.engines.did[id] == nil {
		c.engines.did[id] = map[events.Confirmation]bool{}
	}
	c.engines.did[id][what] = true
}

// Finished follows a container that ended by itself, without an error.
func (c *Checker) Finished(id events.InstanceID) { c.engines.finished[id] = true }

// Prepared checks a new container: the log had its instance on that node when the node asked for it. Stale says that the node's process
// has ended since it asked.
func (c *Checker) Prepared(host string, made node.Container, p node.Plan, asked time.Time, stale bool) {
	c.engines.steps++
	at := process{host, made.Handle}
	if _, known := c.volumes.plans[at]; !known { // a later order is for the next container
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
		c.breach("orders", "%s makes a container for %s, which it reported as removed: it obeys an outdated order", host, p.Instance)
	}
	c.configured(host, p, i)
}

// Started checks a container that runs from here on. No other container of its slot may run if the slot is exclusive, or if both would
// write to the same volumes.
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
				c.breach("P5", "%s starts while %s runs on %s: the slot is exclusive", started, o.Instance, e.Node)
			case c.wentWithNode(started) || c.wentWithNode(o.Instance):
			case e.Node == s.Node && c.keepsVolumes(s.Container) && c.keepsVolumes(o):
				c.breach("volumes", "%s starts while %s runs on %s: both write to the volumes of one slot", started, o.Instance, e.Node)
			}
		}
	}
}

// wentWithNode reports whether the instance was forgotten with its node. The operator who forgets a node asserts that its machine is gone.
// A machine that comes back all the same ends its old instances while the next ones begin.
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
		"P9", "%s ends the running container of %s, but the log has it %s", s.Node, s.Container.Instance, c.facts.instances[s.Container.Instance])
}

// mayEnd reports whether the container must go. An exclusive one ends when its window ends, or a little before.
func (c *Checker) mayEnd(s Step) bool {
	i := c.facts.instances[s.Container.Instance]
	if c.rewound || c.machine(s.Node).orphans[s.Container.Instance] {
		return true
	}
	return i != nil && (!i.runs() || c.yields(i, s))
}

// yields reports whether the window of an exclusive instance is nearly over, or was before the last update of its host's watchdog.
func (c *Checker) yields(i *instance, s Step) bool {
	until := s.GuardedBefore
	if until.IsZero() {
		until = s.Guarded
	}
	early := i.window/4 + c.Heartbeat // the last heartbeat may not have reached its host
	return i.window > 0 && !until.IsZero() && !c.Now().Before(until.Add(-early))
}

// MakesReady checks that a node calls the before_stop hook only of a container that must go.
func (c *Checker) MakesReady(s Step) {
	c.must(c.mayEnd(s),
		"before-stop", "%s calls the before_stop hook of %s, but the log has it %s", s.Node, s.Container.Instance, c.facts.instances[s.Container.Instance])
	c.engines.ready[process{s.Node, s.Container.Handle}] = true
}

// Stopping checks that a running container was left to drain, and that its node has called its before_stop hook. Unhealthy and exclusive containers
// are excepted. Hook is the key of the call.
func (c *Checker) Stopping(s Step, hook string) {
	c.Ending(s)
	i := c.facts.instances[s.Container.Instance]
	if i == nil || s.Container.Role != node.RoleMain || !s.Runs || c.rewound || i.window > 0 || c.engines.sick[s.Container.Instance.String()] || c.engines.sick[hook] {
		return
	}
	of := c.facts.services[i.id.Service]
	if of == nil || i.placed.Before(of.born) {
		return // its service is gone, with its revisions
	}
	spec := of.specs[i.revision]
	served := c.Now().Sub(i.retiredAt)
	c.must(!i.retired || i.forgotten || served >= time.Duration(spec.DrainsFor()),
		"drain", "%s stops %s %s after it was retired, before it is drained", s.Node, s.Container.Instance, served)
	hooks := spec.Hooks
	c.must(hooks == nil || hooks.BeforeStop == nil || c.engines.ready[process{s.Node, s.Container.Handle}],
		"before-stop", "%s stops %s without calling its before_stop hook first", s.Node, s.Container.Instance)
}

// ConfigMark is in every value of a config, and OutputMark in every line that a container prints. Neither is in anything else.
const (
	ConfigMark = "the-value-of-config"
	OutputMark = "the-output-of"
)

// secretsState records what no message may hold.
type secretsState struct {
	// configs holds the values that each config has had, in order, and outputs the keys under which a node kept output.
	configs map[string][]configValue
	outputs map[string]bool
}

// configValue is a value that a config had until a time, which is zero while the config still has it.
type configValue struct {
	text  string
	until time.Time
}

// Published checks that messages hold no value of a config, and no line that a container printed.
func (c *Checker) Published(messages ...events.Message) {
	for _, m := range messages {
		c.must(!bytes.Contains(m.Body, []byte(ConfigMark)) && !bytes.Contains(m.Body, []byte(OutputMark)),
			"P12", "a message on %s holds the value of a config, or the output of a container: %s", m.Subject, m.Body)
	}
}

// ConfigPut follows a config that gets another value now; "" says that it is deleted.
func (c *Checker) ConfigPut(key, value string) {
	had := c.secrets.configs[key]
	if n := len(had); n > 0 && had[n-1].until.IsZero() {
		had[n-1].until = c.Now()
	}
	if value != "" {
		c.secrets.configs[key] = append(had, configValue{text: value})
	}
}

// configured checks that a container has exactly the configs of its spec, from its namespace, with values of its placement or later.
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
		c.must(good, "configs", "%s makes a container for %s with %q as config %s, which has not had that value since the placement",
			host, p.Instance, p.Configs[config.Name], key)
	}
	c.must(len(p.Configs) == len(p.Order.Spec.Configs),
		"configs", "%s makes a container for %s with configs that its spec does not name", host, p.Instance)
}

// OutputKept checks that the output under a key of an instance is the output of its own container.
func (c *Checker) OutputKept(key string, value []byte) {
	line := OutputMark + " " + key[:strings.LastIndexByte(key, '.')] + "\n"
	c.must(strings.ReplaceAll(string(value), line, "") == "" && len(value) > 0,
		"output", "the output under %s is %q, but its container prints %q", key, value, line)
	c.secrets.outputs[key] = true
}

// refers checks that an offline instance names the kept output of its own attempt.
func (c *Checker) refers(i *instance, seen events.InstanceSeen) {
	c.must(seen.Output == "" || (c.secrets.outputs[seen.Output] && seen.Output == events.OutputKey(i.id, seen.Attempt)), "output",
		"%s is offline in attempt %d, and refers to output %s, which is not its own or was never kept", i.id, seen.Attempt, seen.Output)
	c.must(seen.Output != "" || seen.Reason != events.OfflineExited || c.calmFor() <= settlesWithin, "output",
		"%s has exited while nothing was broken, but its output was not kept", i.id)
}
