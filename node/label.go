package node

import (
	"fmt"
	"strconv"

	"github.com/rookery-project/rookery/events"
)

// The labels of a container, which are the durable truth on a node. Containers without LabelCluster are foreign.
const (
	LabelCluster    = events.ReservedLabel + "cluster"
	LabelNode       = events.ReservedLabel + "node"
	LabelNamespace  = events.ReservedLabel + "namespace"
	LabelService    = events.ReservedLabel + "service"
	LabelOrdinal    = events.ReservedLabel + "ordinal"
	LabelGeneration = events.ReservedLabel + "generation"
	LabelRevision   = events.ReservedLabel + "revision"
	LabelAttempt    = events.ReservedLabel + "attempt"
	LabelHash       = events.ReservedLabel + "hash"
	LabelOrder      = events.ReservedLabel + "order"
	LabelRole       = events.ReservedLabel + "role" // absent for the main container
)

// Labels returns the labels of the planned container: the spec's own and Rookery's.
func (p Plan) Labels() map[string]string {
	labels := map[string]string{}
	if p.Order.Spec != nil {
		for name, value := range p.Order.Spec.Labels {
			labels[name] = value
		}
	}
	labels[LabelCluster] = p.Owner.Cluster
	labels[LabelNode] = p.Owner.Node
	labels[LabelNamespace] = p.Instance.Service.Namespace
	labels[LabelService] = p.Instance.Service.Name
	labels[LabelOrdinal] = utoa(p.Instance.Ordinal)
	labels[LabelGeneration] = utoa(p.Instance.Generation)
	labels[LabelRevision] = strconv.FormatUint(p.Order.Revision, 10)
	labels[LabelAttempt] = utoa(p.Attempt)
	labels[LabelHash] = p.Order.Hash
	labels[LabelOrder] = strconv.FormatUint(p.Order.Decided, 10)
	if p.Role != RoleMain {
		labels[LabelRole] = string(p.Role)
	}
	return labels
}

// VolumeLabels returns the labels of the slot's volumes.
func (p Plan) VolumeLabels() map[string]string {
	return map[string]string{
		LabelCluster: p.Owner.Cluster, LabelNode: p.Owner.Node, LabelNamespace: p.Instance.Service.Namespace,
		LabelService: p.Instance.Service.Name, LabelOrdinal: utoa(p.Instance.Ordinal),
	}
}

// Matchers returns the labels that select the owner's containers, and no others.
func (o Owner) Matchers() []string {
	return []string{LabelCluster + "=" + o.Cluster, LabelNode + "=" + o.Node}
}

// ParseLabels reads a container from its labels. The engine must set Handle, State, ExitCode and Ports.
func ParseLabels(labels map[string]string) (Container, error) {
	c := Container{
		Instance: events.InstanceID{Service: events.ServiceID{Namespace: labels[LabelNamespace], Name: labels[LabelService]}},
		Role:     Role(labels[LabelRole]),
	}
	if !events.ValidName(labels[LabelNamespace]) || !events.ValidName(labels[LabelService]) {
		return c, fmt.Errorf("labels %s and %s name no service: %q, %q",
			LabelNamespace, LabelService, labels[LabelNamespace], labels[LabelService])
	}
	for _, field := range []struct {
		label string
		into  *uint32
	}{
		{LabelOrdinal, &c.Instance.Ordinal},
		{LabelGeneration, &c.Instance.Generation},
		{LabelAttempt, &c.Attempt},
	} {
		n, err := strconv.ParseUint(labels[field.label], 10, 32)
		if err != nil {
			return c, fmt.Errorf("label %s: %w", field.label, err)
		}
		*field.into = uint32(n)
	}
	revision, err := strconv.ParseUint(labels[LabelRevision], 10, 64)
	if err != nil {
		return c, fmt.Errorf("label %s: %w", LabelRevision, err)
	}
	c.Revision = revision
	return c, nil
}

func utoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
