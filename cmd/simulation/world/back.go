package world

import "github.com/rookery-project/rookery/events"

// good is how a service was when all of it was as it should be.
type good struct {
	spec  events.Spec
	scale uint32
}

// upToDate reports whether the instance is as the service's revision says.
func (s *service) upToDate(i *instance) bool { return i.revision == s.revision || s.keeps[i.revision] }

// repeats holds a revision that repeats an earlier one to be as that, and what it keeps, too.
func (s *service) repeats(j *judge, id events.ServiceID, d events.ServiceRevised) {
	s.keeps = map[uint64]bool{}
	for _, n := range append([]uint64{d.Of}, d.Keeps...) {
		if n > 0 && instancesOf(s.specs[n]) != instancesOf(d.Spec) {
			j.breach("revisions", "revision %d of %s is said to be as revision %d, which has another spec", d.Revision, id, n)
		}
	}
	for _, n := range d.Keeps {
		s.keeps[n] = true
	}
}

// instancesOf is the hash of what a spec says of its instances, and not of how they are replaced.
func instancesOf(spec events.Spec) string {
	spec.Update, spec.Snapshot = nil, nil
	return spec.Hash()
}

// wentBack holds a service to be what a command that repeats something earlier asked for.
func (a asked) wentBack(j *judge, id events.ServiceID, s *service) {
	switch hash := s.specs[s.revision].Hash(); a.verb {
	case "restart":
		if s.revision <= a.revision || len(s.keeps) > 0 || hash != s.specs[a.revision].Hash() {
			j.breach("P1", "%s was to be restarted in revision %d, and is in revision %d, which keeps %v", id, a.revision, s.revision, s.keeps)
		}
	case "rollback":
		if a.To > 0 && hash != s.specs[a.To].Hash() {
			j.breach("P1", "%s was to be as in revision %d, and revision %d is not", id, a.To, s.revision)
		}
	case "cancel":
		if a.good == nil || s.dropped || hash != a.good.spec.Hash() || (!a.good.spec.Global() && s.scale != a.good.scale) {
			j.breach("P1", "%s was to be as it was when all was well, and is not", id)
		}
	}
}
