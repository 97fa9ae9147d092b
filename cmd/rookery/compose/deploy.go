package compose

import (
	"fmt"
	"math"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// deploy maps the number of instances, their resources and their placement.
func (o *one) deploy() {
	if o.Deploy == nil {
		o.Deploy = &types.DeployConfig{}
	}
	o.amount()
	o.resources()
	o.placement()
}

// amount maps the number of instances. A service whose file gives no number keeps its current scale.
func (o *one) amount() {
	given := o.Deploy.Replicas
	if given == nil {
		given = o.Scale
	}
	count := uint32(1)
	if given != nil {
		count = uint32(max(0, *given))
	}
	mode := o.Deploy.Mode
	if o.jobs[o.Name] && (mode == "" || mode == "replicated") {
		mode = "replicated-job" // another service waits until it completes
	}
	switch mode {
	case "", "replicated":
		if given != nil {
			scale := int64(*given)
			o.is.Scale = &scale
		}
	case "global":
		o.is.Mode = events.ModeGlobal
		if given != nil {
			o.refuse("deploy.replicas", *given, "a global service has one instance on each node: remove this key")
		}
	case "replicated-job":
		o.is.Mode, o.is.Job = events.ModeJob, &events.Job{Completions: count, Parallelism: count}
	default:
		o.refuse("deploy.mode", mode, "want replicated, global or replicated-job")
	}
}

// instances returns the number of instances: 1 for one, and any other number for several.
func (o *one) instances() int64 {
	switch {
	case o.is.Mode == events.ModeGlobal:
		return math.MaxInt64
	case o.is.Scale != nil:
		return *o.is.Scale
	case o.is.Job != nil:
		return int64(o.is.Job.Parallelism)
	}
	return 1
}

func (o *one) resources() {
	o.is.Resources = events.Resources{CPU: cores(o.CPUS), Memory: size(o.MemLimit)}
	o.is.Requests = events.Resources{Memory: size(o.MemReservation)}
	if l := o.Deploy.Resources.Limits; l != nil {
		if l.NanoCPUs > 0 {
			o.is.Resources.CPU = cores(float32(l.NanoCPUs))
		}
		if l.MemoryBytes > 0 {
			o.is.Resources.Memory = size(l.MemoryBytes)
		}
	}
	if r := o.Deploy.Resources.Reservations; r != nil {
		if r.NanoCPUs > 0 {
			o.is.Requests.CPU = cores(float32(r.NanoCPUs))
		}
		if r.MemoryBytes > 0 {
			o.is.Requests.Memory = size(r.MemoryBytes)
		}
	}
}

func cores(n float32) events.CPU {
	return events.CPU(math.Round(float64(n) * float64(events.Core)))
}

func size(bytes types.UnitBytes) events.Size { return events.Size(max(0, bytes)) }

// zoneLabel is the name of a node's zone in a file.
const zoneLabel = "node.labels.zone"

func (o *one) placement() {
	p := o.Deploy.Placement
	o.is.MaxPerNode = uint32(p.MaxReplicas)
	for i, text := range p.Constraints {
		key := fmt.Sprintf("deploy.placement.constraints[%d]", i)
		name, value, equal := strings.Cut(text, "==")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		labelled, isLabel := strings.CutPrefix(name, "node.labels.")
		switch {
		case !equal && strings.Contains(text, "!="):
			o.refuse(key, text, "Rookery selects nodes only by labels that they have: label the allowed nodes, and write node.labels.NAME==VALUE")
		case !equal || !isLabel || labelled == "":
			o.refuse(key, text, "Rookery selects nodes only by their labels: set one with rookery node --label, and write node.labels.NAME==VALUE")
		default:
			if o.is.NodeSelector == nil {
				o.is.NodeSelector = map[string]string{}
			}
			if other, twice := o.is.NodeSelector[labelled]; twice && other != value {
				o.refuse(key, text, "no node has both %s and %s for one label: remove one of them", other, value)
				continue
			}
			o.is.NodeSelector[labelled] = value
		}
	}
	for i, preference := range p.Preferences {
		key := fmt.Sprintf("deploy.placement.preferences[%d].spread", i)
		if preference.Spread != zoneLabel {
			o.refuse(key, preference.Spread, "Rookery spreads instances over the zones of nodes (rookery node --zone): remove this key, "+
				"or use %s", zoneLabel)
			continue
		}
		o.warn(key, preference.Spread, "the zone of a node comes from rookery node --zone, not from a label")
		o.spread()
	}
}

// serviceLabel is the label that Compose gives to a service's containers.
const serviceLabel = "com.docker.compose.service"

// spread makes the spec spread instances over the zones, whatever the cluster's policy is. A label selects the service's instances.
func (o *one) spread() {
	if o.is.Labels == nil {
		o.is.Labels = map[string]string{}
	}
	o.is.Labels[serviceLabel] = o.Name
	o.is.Spread = []events.Selector{{Label: serviceLabel, Operator: events.OpEqual, Values: []string{o.Name}}}
}
