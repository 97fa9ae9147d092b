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

// Endpoints is the value of a key <namespace>.<name>.<port> in the bucket rookery_endpoints: the addresses of the service's port. The
// key exists as long as the service has a port of that name, also while no instance serves it.
type Endpoints struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Port      string `json:"port"`
	// Addresses are the addresses of the newest serving instance of each slot, in the order of the slots.
	Addresses []Endpoint `json:"addresses"`
	Sequence  uint64     `json:"sequence"`
}

// Endpoint is a slot and the address of its port, as 10.0.0.7:20001.
type Endpoint struct {
	Ordinal uint32 `json:"ordinal"`
	Address string `json:"address"`
}

// Reached returns the endpoints of all services of the state.
func Reached(c *projections.Cluster) Changes {
	changes := newChanges()
	for id := range c.Services {
		changes.endpoints(c, id)
	}
	changes.Sequence = c.Sequence
	return changes
}

// endpoints adds the values of all ports of the service.
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

// reached returns the addresses of each of the service's ports.
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

// serving returns the instance if it serves and must run; nil otherwise. The endpoints drop a retired instance before its node gets the
// order to stop it. They drop a lost instance, because it may be gone with its node. An instance on a silent node stays until it is lost.
func serving(i *projections.Instance) *projections.Instance {
	if i == nil || i.Retired() != "" || i.Lost || i.Differs || i.Seen.Phase != events.PhaseOnline {
		return nil
	}
	return i
}

// moves reports whether an event may change the endpoints of services.
func moves(d events.Data) bool {
	switch d.(type) {
	case events.Sighting, events.InstanceAdopted, events.InstanceLost, events.InstanceReturned, events.InstanceRetired, events.InstanceForgotten,
		events.ServiceRevised, events.ServiceDropped, events.ServiceRemoved, events.OperationEnded:
		return true
	}
	return false
}

// Withdraws reports whether one of these records stops an instance. The endpoints must drop the instance before its node stops it.
func Withdraws(records []events.Record) bool {
	return slices.ContainsFunc(records, func(r events.Record) bool {
		_, retired := r.Data.(events.InstanceRetired)
		return retired
	})
}
