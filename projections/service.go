package projections

import (
	"iter"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Service is a named, scaled set of identical instances.
type Service struct {
	ID       events.ServiceID
	Revision uint64
	// Revisions holds the current revision, the revisions that instances still have, and those to which the service can return.
	Revisions map[uint64]*Revision
	Scale     uint32
	// Skips are the ordinals, in order, that the service leaves out although it has higher ones. A scale-down removes slots that do not
	// serve first, so it may leave such gaps.
	Skips events.Ordinals `json:",omitempty"`
	// Dropped says that the service is being deleted; the coordinator removes it when its last instance is gone.
	Dropped bool
	// Holder is the sequence of the command that the coordinator carries out for the service, or 0.
	Holder uint64
	// Before is the revision to which the service returns if its group is aborted; 0 for none.
	Before uint64 `json:",omitzero"`
	// Good is the last revision and scale at which the service was healthy; nil for none.
	Good *Good
	// Changed is the sequence of the event that last changed the service's target.
	Changed uint64
	// TakesBack says that the service returns to its state before a group that ended in the middle, until a command asks for something
	// else.
	TakesBack bool `json:",omitzero"`
	// Operation is the change that is under way, wave by wave; nil for none.
	Operation *Operation `json:",omitzero"`
	// Last is the outcome of the previous operation; nil where there was none.
	Last *EndedOperation `json:",omitzero"`
	// Topology is what the coordinator last told the instances about each other; nil where the spec asks for no topology. Versions is
	// the highest config version so far.
	Topology *events.Topology `json:",omitzero"`
	Versions uint64           `json:",omitzero"`
	// Moved says that slots have got or lost an instance since that topology.
	Moved bool `json:",omitzero"`
	// Snapshots are the snapshots that were taken, and the request for the next one.
	Snapshots Snapshots `json:",omitzero"`
	// Suspension is the progress of the service's suspension; nil where the service must run. Resumption is how it was last resumed; nil
	// if it never was, or if its volumes stayed as they were.
	Suspension *Suspension `json:",omitzero"`
	Resumption *Resumption `json:",omitzero"`
	// Floor is the generation above which a new slot of the service begins.
	Floor uint32
	// Pending says why no node can take the next instance; nil where that is not known.
	Pending *events.InstancePending
	// WaitsSince is since when at least one slot finds no node; zero where no slot waits.
	WaitsSince time.Time
	// Homes are the nodes that have the volumes of slots, by ordinal. They stay as long as the service exists, at any scale.
	Homes map[uint32]string
	// Failures are the failures of the current revision, by node.
	Failures map[string]Failures
	// Job is the progress of a job; nil where the service is not a job.
	Job *Job
	// Grown says since when the service must have its slots, in order of the ordinals, as long as one of them lacks an instance.
	Grown []Growth `json:",omitempty"`
	// Slots are the service's slots by ordinal. Slots beyond the scale wait until their instances are gone.
	Slots []*Slot

	spare   []Slot // the next slots, made in advance
	indexed uint8  // the indexes that contain the service, as bits
	mayWait bool   // a slot may wait because its last instance used up its restarts: anyWaits must check
	filled  int
	serving int
	total   int
	// lost counts the lost instances. absent counts those of them for which the service does not wait.
	lost, absent int
	// outdated counts the instances for which UpToDate is false.
	outdated int
}

// Revision is one accepted spec of a service.
type Revision struct {
	Spec events.Spec
	Hash string
	// Images are the images to which the names in the spec resolve. The first node that resolves a name resolves it for all instances.
	Images map[string]Image `json:",omitempty"`
	// Keeps are the earlier revisions whose instances this revision keeps, because they are alike.
	Keeps []uint64 `json:",omitempty"`

	used int
}

// Slot is an instance's place in a service.
type Slot struct {
	// Last is the last generation that was placed.
	Last uint32
	// Current is the instance that must run in the slot; nil where the slot waits for one.
	Current *Instance
	// Next is the successor that replaces Current once it serves; nil for none.
	Next *Instance
	// Aside holds what only few slots have; nil for nothing.
	Aside *Aside `json:",omitzero"`
	// Restarts counts the restarts of the slot's instances in the current revision. A replacement after a crash loop counts as one.
	Restarts uint32 `json:",omitzero"`
	// Since is when the slot's last instance was retired, if it has had no instance since; none where the slot starts again as new.
	Since Moment `json:",omitzero"`
	// Fresh says that the slot has had no instance yet, or, in a job, none in this run. A slot that a scale-up brings back is new again.
	Fresh bool `json:",omitzero"`
}

// Aside is what a slot has beside its current and its next instance during a change or a failure.
type Aside struct {
	// Disconnected are the instances on lost nodes, oldest first: a replacement may run until the nodes are back. They
	// must still run.
	Disconnected []*Instance `json:"Away,omitempty"`
	// Terminating are the instances that are to stop, oldest first.
	Terminating []*Instance `json:"Leaving,omitempty"`
	// NextServes is since when the next instance serves; zero where it does not.
	NextServes time.Time `json:",omitzero"`
	// Tries counts, during a drain of its node, the successors of the current instance that failed before they replaced it. The last
	// failed at TriedAt.
	Tries   uint32    `json:",omitzero"`
	TriedAt time.Time `json:",omitzero"`
	// Ended is a copy of the last instance of a job's slot that completed or failed in the current revision; nil for none.
	Ended *Instance `json:",omitzero"`
	// Crashes are the ends in a row of the slot's instances; nil if there was none since an instance served for events.SteadyAfter.
	Crashes *Crashes `json:",omitzero"`
}

// Beside returns what the slot has beside its current and its next instance.
func (s *Slot) Beside() Aside { return orZero(s.Aside) }

// aside changes what the slot has beside its current and its next instance. It drops Aside where nothing is left in it.
func (s *Slot) aside(change func(*Aside)) {
	if s.Aside == nil {
		s.Aside = &Aside{}
	}
	change(s.Aside)
	if a := s.Aside; len(a.Disconnected) == 0 && len(a.Terminating) == 0 && a.NextServes.IsZero() && a.Tries == 0 && a.Ended == nil && a.Crashes == nil {
		s.Aside = nil
	}
}

// Instance is one incarnation of a slot. Fields that only few instances have are behind pointers, because a state may hold hundreds of
// thousands of instances.
type Instance struct {
	ID       events.InstanceID
	Revision uint64
	Node     string
	Address  string
	Ports    []events.PortBinding
	// Reserved are the resources that are reserved for it on its node.
	Reserved events.Resources
	// SecurityContext is the default for its containers, where the spec sets none.
	SecurityContext events.SecurityContext `json:",omitempty"`
	// Special is what only few instances are placed with; nil for nothing.
	Special *Special `json:",omitzero"`
	// Decided is the sequence of the event that decided its order. Counter is the node's count of orders at that event.
	Decided uint64
	Counter uint64
	// Seen is the last position that its node reported.
	Seen events.Position
	// Ending is why it must stop, or why it is offline; nil where it must run and is running or starting.
	Ending *Ending `json:",omitzero"`
	Times  Times
	// Answer is its last answer to a request for a change of topology or for a snapshot; nil for none.
	Answer *events.Confirmation `json:",omitzero"`
	// Lost says that its node was silent for too long and has not reported the instance since.
	Lost bool `json:",omitzero"`
	// Differs says that it was made from another image than the one to which its revision resolves.
	Differs bool `json:",omitzero"`
	// Output says that the last output of its container was kept, under the key of the attempt in Seen.
	Output bool `json:",omitzero"`
}

// Special is what few instances are placed with.
type Special struct {
	// Run is the run of a job with a schedule; 0 for any other service.
	Run uint64 `json:",omitzero"`
	// Scratch is the size of its scratch disk.
	Scratch events.Size `json:",omitzero"`
	// Window is how long an exclusive instance may run after its node's last heartbeat; 0 for no bound. Epoch is the node epoch in which
	// an instance with such a bound was placed.
	Window events.Duration `json:",omitzero"`
	Epoch  uint64          `json:",omitzero"`
	// Restore is the content with which its node fills its volumes before it first runs; nil where the volumes stay as they are.
	Restore *events.Restore `json:",omitzero"`
}

// Ending is why an instance must stop, or does not run. An Ending is replaced and never changed in place.
type Ending struct {
	// Retired says why it must stop; "" where it must run.
	Retired events.RetireReason `json:",omitempty"`
	// Reason, ExitCode and Message explain events.PhaseOffline.
	Reason   events.OfflineReason `json:",omitempty"`
	ExitCode *int32               `json:",omitzero"`
	Message  string               `json:",omitempty"`
	// NoRestart is why its node does not start it again; "" where it does.
	NoRestart events.NoRestart `json:",omitempty"`
}

// PlacedWith returns what only few instances are placed with.
func (i *Instance) PlacedWith() Special { return orZero(i.Special) }

// special sets what only few instances are placed with.
func (i *Instance) special(s Special) {
	if i.Special = nil; s != (Special{}) {
		i.Special = &s
	}
}

// Ended returns why it must stop, or does not run.
func (i *Instance) Ended() Ending { return orZero(i.Ending) }

func (i *Instance) ends(e Ending) {
	if i.Ending = nil; e != (Ending{}) {
		i.Ending = &e
	}
}

// Retired says why it must stop; "" where it must run.
func (i *Instance) Retired() events.RetireReason {
	if i.Ending == nil {
		return ""
	}
	return i.Ending.Retired
}

// Confirmed returns its last answer to a request.
func (i *Instance) Confirmed() events.Confirmation { return orZero(i.Answer) }

// orZero returns what the pointer points to; the zero value where it is nil.
func orZero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// Rests reports whether no container of the instance runs, and its node does not start it again.
func (i *Instance) Rests() bool {
	return i.Seen.Phase >= events.PhaseCompleted || (i.Seen.Phase == events.PhaseOffline && i.Ended().NoRestart != "")
}

// Takes returns the resources that are reserved for the instance now. An instance that rests takes no CPU and no memory. Its files and
// its ports stay until it is removed, because it would publish the same ports again.
func (i *Instance) Takes() events.Resources {
	if i.Rests() {
		return events.Resources{Disk: i.Reserved.Disk}
	}
	return i.Reserved
}

// Serves reports whether the instance is known to serve. That is not known of a lost instance whose node has started again since its
// last report.
func (c *Cluster) Serves(i *Instance) bool {
	n := c.Nodes[i.Node]
	return n.Live() && i.Seen.Phase == events.PhaseOnline && !i.Differs && (!i.Lost || i.Seen.Epoch == n.Epoch)
}

// Current returns the current revision.
func (s *Service) Current() *Revision { return s.Revisions[s.Revision] }

// Serving counts the current instances that are up to date and serve.
func (s *Service) Serving() int { return s.serving }

// Filled counts the slots with a current instance.
func (s *Service) Filled() int { return s.filled }

// Total counts all instances, the terminating ones included.
func (s *Service) Total() int { return s.total }

// Settled reports whether the service has reached its target: every slot serves in the current revision, and no other instance is left.
// Lost instances that must stop, or whose slot may be replaced, do not count.
//
// A job is settled once it is done or given up, and while it waits for the first run of its schedule. A service with a paused update is
// settled while every slot serves in its target revision. A suspended service is settled once its operation has ended.
func (s *Service) Settled() bool {
	switch {
	case s.Dropped:
		return s.total == s.absent
	case s.Job != nil:
		return s.Done() || s.GivenUp() || s.Idle()
	case s.Suspension != nil:
		return s.Suspension.Stopped && s.Operation == nil
	case s.Operation != nil:
		return s.Operation.Paused != "" && s.steady()
	}
	return s.serving+s.excused() == int(s.Scale) && s.total-s.absent == int(s.Scale) && !s.Rescales() && s.Snapshots.Wanted == 0
}

// Proven reports whether the service is settled and, in a revision that was never healthy before, has served for FirstHealthy.
func (s *Service) Proven(now time.Time) bool { return s.Settled() && !now.Before(s.provenAt()) }

// provenAt returns when the instances of a service will have served for FirstHealthy, if its revision was never healthy before; the zero
// time otherwise. A revision at scale 0 does not count as healthy.
func (s *Service) provenAt() time.Time {
	proven := s.Good != nil && s.Good.Revision == s.Revision && s.Good.Scale > 0
	if proven || s.Dropped || s.Job != nil || s.Suspension != nil {
		return time.Time{}
	}
	var since Moment
	for _, slot := range s.Slots {
		if slot.Current != nil {
			since = max(since, slot.Current.Times.Served)
		}
	}
	if since == 0 {
		return time.Time{}
	}
	return since.Time().Add(s.Current().Spec.FirstHealthy())
}

// excused counts the slots for which the service does not wait: those of a global service on lost nodes, as no other node can take them.
func (s *Service) excused() int {
	if !s.Current().Spec.Global() {
		return 0
	}
	return s.lost - s.absent
}

// Excused reports whether the service does not wait for the slot.
func (s *Service) Excused(ordinal uint32) bool {
	if int(ordinal) >= len(s.Slots) || !s.Current().Spec.Global() {
		return false
	}
	i := s.Slots[ordinal].Current
	return i != nil && i.Lost
}

// Lacks reports whether a slot that must have an instance has none. For a job it reports whether fewer instances run than may.
func (s *Service) Lacks() bool { return s.filled < s.Wanted() }

// Instances yields every instance of the service, slot by slot, the oldest of a slot first.
func (s *Service) Instances() iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for _, slot := range s.Slots {
			if a := slot.Aside; a != nil && (!all(a.Terminating, yield) || !all(a.Disconnected, yield)) {
				return
			}
			if slot.Current != nil && !yield(slot.Current) {
				return
			}
			if slot.Next != nil && !yield(slot.Next) {
				return
			}
		}
	}
}

// all yields the instances, and reports whether all of them were taken.
func all(instances []*Instance, yield func(*Instance) bool) bool {
	for _, i := range instances {
		if !yield(i) {
			return false
		}
	}
	return true
}

// Home returns the node on which a slot's next instance must run because the slot's volumes are there; "" for any.
func (s *Service) Home(ordinal uint32) string {
	if len(s.Homes) == 0 || !s.Revisions[s.Target(ordinal)].Spec.KeepsVolumes() {
		return ""
	}
	return s.Homes[ordinal]
}

// keepHome remembers the node that has the slot's volumes. An instance without volumes leaves the slot without such a node.
func (s *Service) keepHome(i *Instance) {
	if !s.Revisions[i.Revision].Spec.KeepsVolumes() {
		delete(s.Homes, i.ID.Ordinal)
		return
	}
	if s.Homes == nil {
		s.Homes = map[uint32]string{}
	}
	s.Homes[i.ID.Ordinal] = i.Node
}

// Rolling reports whether instances of earlier revisions still run.
func (s *Service) Rolling() bool {
	return !s.Dropped && !s.Suspended() && s.Revisions[s.Revision] != nil && s.outdated > 0
}

func (s *Slot) find(generation uint32) *Instance {
	if s.Current != nil && s.Current.ID.Generation == generation {
		return s.Current
	}
	if s.Next != nil && s.Next.ID.Generation == generation {
		return s.Next
	}
	a := s.Beside()
	for _, others := range [...][]*Instance{a.Terminating, a.Disconnected} {
		for _, i := range others {
			if i.ID.Generation == generation {
				return i
			}
		}
	}
	return nil
}

// Remains returns the first instance that may still run beside the slot's current and next one; nil for none. An exclusive
// instance that is lost no longer runs, as its node has stopped it.
func (s *Slot) Remains() *Instance {
	a := s.Beside()
	for _, i := range a.Terminating {
		if !i.Lost || i.PlacedWith().Window == 0 {
			return i
		}
	}
	if len(a.Disconnected) > 0 {
		return a.Disconnected[0]
	}
	return nil
}

func (s *Slot) empty() bool {
	a := s.Beside()
	return s.Current == nil && s.Next == nil && len(a.Terminating) == 0 && len(a.Disconnected) == 0
}

// slot returns the slot of this ordinal. It creates the slot, and those below it, where they are missing.
func (s *Service) slot(ordinal uint32) *Slot {
	for int(ordinal) >= len(s.Slots) {
		if len(s.spare) == 0 {
			s.makeSpare()
		}
		s.spare[0].Last, s.spare[0].Fresh = s.Floor, true
		s.Slots, s.spare = append(s.Slots, &s.spare[0]), s.spare[1:]
	}
	return s.Slots[ordinal]
}

// makeSpare allocates up to 32 slots at once, as many as the service lacks.
func (s *Service) makeSpare() {
	const most = 32
	lacks := max(int(s.Span())-len(s.Slots), 1)
	s.spare = make([]Slot, min(lacks, most))
	s.Slots = slices.Grow(s.Slots, lacks)
}

// NextGeneration returns the generation of the slot's next instance.
func (s *Service) NextGeneration(ordinal uint32) uint32 {
	if int(ordinal) < len(s.Slots) {
		return s.Slots[ordinal].Last + 1
	}
	return s.Floor + 1
}

// Fresh reports whether the slot has had no instance yet, so that its next one replaces no other.
func (s *Service) Fresh(ordinal uint32) bool {
	return int(ordinal) >= len(s.Slots) || s.Slots[ordinal].Fresh
}

// beginAnew resets the slot to one that has had no instance.
func (s *Slot) beginAnew() {
	s.Fresh, s.Restarts, s.Since = true, 0, 0
	s.aside(func(a *Aside) { a.Crashes = nil })
}

// renew resets the slot if it has no current instance.
func (s *Slot) renew() {
	if s.Current == nil {
		s.beginAnew()
	}
}

// renew resets the slots without a current instance.
func (s *Service) renew() {
	for _, slot := range s.Slots {
		slot.renew()
	}
}

// scaled gives the service another scale. A slot beyond the scale is new again if a later scale brings it back.
func (s *Service) scaled(d events.ServiceScaled, now time.Time) {
	if top := d.Scale + uint32(len(d.Skips)); top > s.top() {
		s.grow(s.top(), now)
	}
	skipped := s.Skips
	s.Scale, s.Skips = d.Scale, slices.Clone(d.Skips)
	for o, slot := range s.Slots {
		switch {
		case !s.Wants(uint32(o)):
			slot.renew()
		case slices.Contains(skipped, uint32(o)):
			slot.Since = momentOf(now)
		}
	}
	s.trim()
}

func (s *Service) add(i *Instance) {
	s.Moved = s.Topology != nil
	slot := s.slot(i.ID.Ordinal)
	if c := slot.Beside().Crashes; c != nil && c.Waits {
		c.Waits = false
		if c.Revision == i.Revision {
			slot.Restarts++
		}
	}
	slot.Last, slot.Fresh, slot.Since = i.ID.Generation, false, 0
	slot.Current = i
	s.filled++
	s.use(i)
	s.keepHome(i)
	s.countServing(i, 1)
}

// succeed notes the instance as the successor, which replaces the slot's current instance once it serves.
func (s *Service) succeed(i *Instance) {
	slot := s.slot(i.ID.Ordinal)
	slot.Last = i.ID.Generation
	slot.Next = i
	s.use(i)
}

// use counts a new instance.
func (s *Service) use(i *Instance) {
	s.total++
	s.Revisions[i.Revision].used++
	if !s.UpToDate(i) {
		s.outdated++
	}
}

func (s *Service) retire(i *Instance, reason events.RetireReason, now time.Time) {
	before := s.isAbsent(i)
	if !s.isDisconnected(i) { // the replacement of a disconnected instance serves on
		s.servesNoMore(i)
	}
	s.leave(i)
	ending := i.Ended()
	ending.Retired = reason
	i.ends(ending)
	s.countAbsent(i, before)
	slot := s.Slots[i.ID.Ordinal]
	slot.aside(func(a *Aside) { a.Terminating = append(a.Terminating, i) })
	if reason == events.RetireScaledDown || reason == events.RetireDropped || reason == events.RetireSuspended {
		slot.beginAnew()
	} else if slot.Current == nil {
		slot.Since = momentOf(now)
	}
}

// leave removes the instance from its place as the slot's current, next or disconnected instance.
func (s *Service) leave(i *Instance) {
	slot := s.Slots[i.ID.Ordinal]
	s.Moved = s.Moved || (s.Topology != nil && slot.Current == i)
	slot.forgetDisconnected(i)
	switch i {
	case slot.Next:
		slot.Next = nil
		slot.aside(func(a *Aside) { a.NextServes = time.Time{} })
	case slot.Current:
		s.countServing(i, -1)
		slot.Current, slot.Next = slot.Next, nil
		slot.aside(func(a *Aside) { a.NextServes, a.Tries, a.TriedAt = time.Time{}, 0, time.Time{} })
		if slot.Current == nil {
			s.filled--
			return
		}
		s.keepHome(slot.Current)
		s.countServing(slot.Current, 1)
	}
}

// remove forgets an instance, and the slots at the end that the service no longer needs.
func (s *Service) remove(i *Instance) {
	if s.isAbsent(i) {
		s.absent--
	}
	s.leave(i)
	slot := s.Slots[i.ID.Ordinal]
	slot.aside(func(a *Aside) { a.Terminating = but(a.Terminating, i) })
	s.total--
	s.Revisions[i.Revision].used--
	if !s.UpToDate(i) {
		s.outdated--
	}
	s.trimRevision(i.Revision)
	s.trim()
}

func (s *Service) trim() {
	n := len(s.Slots)
	for n > int(s.Span()) && s.Slots[n-1].empty() {
		s.Floor = max(s.Floor, s.Slots[n-1].Last)
		n--
	}
	s.Slots = slices.Delete(s.Slots, n, len(s.Slots))
}

// countServing adds by to the count if the instance serves. Callers pass -1 before a change to the instance, and 1 after it.
func (s *Service) countServing(i *Instance, by int) {
	if s.Slots[i.ID.Ordinal].Current == i && i.Seen.Phase == events.PhaseOnline && !i.Lost && !i.Differs && s.UpToDate(i) {
		s.serving += by
	}
}
