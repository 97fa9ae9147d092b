package world

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// withdrawnFor is how long an order to stop may wait for the addresses to be withdrawn: what is stored later was not waited for.
const withdrawnFor = bus.LeaseAge / 4

// orderedToStop holds an order of the round that was closed last to what people are told by then: nobody is sent to what is to stop.
func (j *judge) orderedToStop(id events.InstanceID, o events.Order) {
	i := j.cluster.instances[id]
	if i == nil || !i.retired || o.Decided <= j.opened || time.Since(j.stored) >= withdrawnFor {
		return
	}
	b, err := j.w.server.Bucket(context.Background(), bus.BucketEndpoints)
	if err != nil {
		j.breach("endpoints", "%v", err)
		return
	}
	for _, p := range i.ports {
		e, err := b.Get(context.Background(), id.Service.Namespace+"."+id.Service.Name+"."+p.Name)
		if err != nil {
			continue // there is none
		}
		var v views.Endpoints
		if err := json.Unmarshal(e.Value, &v); err != nil {
			j.breach("endpoints", "%s does not read: %v", e.Key, err)
			return
		}
		own := views.Endpoint{Ordinal: id.Ordinal, Address: i.reached(p.Name)}
		if slices.Contains(v.Addresses, own) && !j.cluster.anothersAddress(i, p.Name) {
			j.breach("endpoints", "%s is ordered to stop, and is still to be reached at %s", id, own.Address)
		}
	}
}

// anothersAddress reports whether another instance has the address by now: a stray that turns up late may have had it once.
func (k *knowledge) anothersAddress(i *instance, port string) bool {
	return slices.ContainsFunc(k.of(i.id.Service), func(peer *instance) bool {
		return peer != i && !peer.retired && peer.reached(port) == i.reached(port)
	})
}
