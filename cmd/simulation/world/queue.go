package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// queued holds a command that waits to have something to wait for.
func (k *knowledge) queued(j *judge, sequence uint64, id events.ServiceID) {
	const most = 16
	waits := 0
	for _, f := range k.open {
		if f.service == id && f.queued {
			waits++
		}
	}
	if (waits == 0 && !k.held(id)) || waits >= most {
		j.breach("queues", "command %d waits behind %d for %s", sequence, waits, id)
	}
}

// held reports whether a command to the service is being carried out.
func (k *knowledge) held(id events.ServiceID) bool {
	for sequence, f := range k.open {
		if (f.service == id && !f.queued) || k.groups[sequence].has(id) {
			return true
		}
	}
	return false
}

// begun holds a command that waited to begin when none is carried out, and none that came before it waits.
func (k *knowledge) begun(j *judge, sequence uint64, now time.Time) {
	f := k.open[sequence]
	if f == nil || !f.queued {
		j.breach("queues", "command %d begins, and did not wait", sequence)
		return
	}
	for _, other := range slices.Sorted(maps.Keys(k.open)) {
		if o := k.open[other]; k.groups[other].has(f.service) || (o.service == f.service && other != sequence && (!o.queued || other < sequence)) {
			j.breach("queues", "command %d begins for %s before command %d has ended", sequence, f.service, other)
			return
		}
	}
	k.unseen(j, sequence, f.service)
	f.queued, f.since = false, now
	k.wants(j, sequence, f.verb, f.service)
}
