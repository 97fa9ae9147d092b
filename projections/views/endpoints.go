package views

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Endpoints is the value of a key <namespace>.<name>.<port> in the bucket rookery_endpoints: where the service's port is to be reached.
// The key is there for as long as the service has a port of that name, whether anything serves it or not.
type Endpoints struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Port      string `json:"port"`
	// Addresses are those of the newest instance of each slot that serves, in order of their slots.
	Addresses []Endpoint `json:"addresses"`
	Sequence  uint64     `json:"sequence"`
}

// Endpoint is a slot and the address of its port, as 10.0.0.7:20001.
type Endpoint struct {
	Ordinal uint32 `json:"ordinal"`
	Address string `json:"address"`
}

// Reached returns where all services of the state are reached.
func Reached(c *projections.Cluster) Changes {
	changes := newChanges()
	for id := range c.Services {
		changes.endpoints(c, id)
	}
	changes.Sequence = c.Sequence
	return changes
}

// endpoints shows all ports of the service.
func (ch Changes) endpoints(c *projections.Cluster, id events.ServiceID) {
	if _, shown := ch.Ports[id]; shown {
		return
	}
	ports := reached(c.Services[id])
	ch.Ports[id] = slices.Sorted(maps.Keys(ports))
	for name, addresses := range ports {
		ch.put(bus.BucketEndpoints, endpointsKey(id, name), Endpoints{
			Namespace: id.Namespace, Name: id.Name, Port: name, Addresses: addresses, Sequence: c.Sequence,
		})
	}
}

func endpointsKey(id events.ServiceID, port string) string {
	return id.Namespace + "." + id.Name + "." + port
}

// reached returns the addresses of each port that the service has.
func reached(s *projections.Service) map[string][]Endpoint {
	ports := map[string][]Endpoint{}
	if s == nil || s.Revision == 0 || s.Dropped {
		return ports
	}
	for _, p := range s.Current().Spec.Ports {
		ports[p.Name] = []Endpoint{}
	}
	for ordinal, slot := range s.Slots {
		i := cmp.Or(serving(slot.Next), serving(slot.Current))
		if i == nil {
			continue
		}
		for _, p := range i.Ports {
			address := net.JoinHostPort(i.Address, strconv.Itoa(int(p.HostPort)))
			ports[p.Name] = append(ports[p.Name], Endpoint{Ordinal: uint32(ordinal), Address: address})
		}
	}
	return ports
}

// serving returns the instance if it serves and shall: what is retired is withdrawn before it is told to stop, and what is lost may be
// gone with its node. One whose node is silent for a while serves as far as anybody knows.
func serving(i *projections.Instance) *projections.Instance {
	if i == nil || i.Retired() != "" || i.Lost || i.Differs || i.Seen.Phase != events.PhaseOnline {
		return nil
	}
	return i
}

// moves reports whether an event may change where services are reached.
func moves(d events.Data) bool {
	switch d.(type) {
	case events.Sighting, events.InstanceAdopted, events.InstanceLost, events.InstanceReturned, events.InstanceRetired, events.InstanceForgotten,
		events.ServiceRevised, events.ServiceDropped, events.ServiceRemoved, events.OperationEnded:
		return true
	}
	return false
}

// Withdraws reports whether an instance is to stop by one of these records, which nobody shall be told to reach any more by then.
func Withdraws(records []events.Record) bool {
	return slices.ContainsFunc(records, func(r events.Record) bool {
		_, retired := r.Data.(events.InstanceRetired)
		return retired
	})
}
