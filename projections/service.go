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
	// Revisions holds the current revision, those that instances still have, and those that may be gone back to.
	Revisions map[uint64]*Revision
	Scale     uint32
	// Skips are the ordinals, in order, that it shall not have although it has higher ones: those of a smaller scale that did not serve.
	Skips events.Ordinals `json:",omitempty"`
	// Dropped says that the service shall exist no more; it goes when its last instance is gone.
	Dropped bool
	// Holder is the sequence of the command that is being carried out, or 0.
	Holder uint64
	// Before is the revision that the service goes back to where its group is aborted; 0 for none.
	Before uint64 `json:",omitzero"`
	// Good is how the service was when all of it was last as it should be; nil for never.
	Good *Good
	// Changed is the sequence of the event that last changed what the service shall be.
	Changed uint64
	// TakesBack says that it is to be again what it was before a group that ended in the middle, until something else is asked of it.
	TakesBack bool `json:",omitzero"`
	// Operation is the change that is under way, wave by wave; nil for none.
	Operation *Operation `json:",omitzero"`
	// Last is what the one before came to; nil where there was none.
	Last *EndedOperation `json:",omitzero"`
	// Topology is what its instances were last told of each other; nil where its spec asks for none. Versions is the last
	// config version of any.
	Topology *events.Topology `json:",omitzero"`
	Versions uint64           `json:",omitzero"`
	// Moved says that instances have come or gone since that.
	Moved bool `json:",omitzero"`
	// Snapshots are those that were taken, and the one that is to be.
	Snapshots Snapshots `json:",omitzero"`
	// Suspension says how far the service is that shall rest; nil where it shall run. Resumption is how it last came back; nil for never,
	// or with its volumes as they are.
	Suspension *Suspension `json:",omitzero"`
	Resumption *Resumption `json:",omitzero"`
	// Floor is a generation that no slot of the service has yet gone above when it is made.
	Floor uint32
	// Pending says why no node can have the next instance; nil where that is not known.
	Pending *events.InstancePending
	// WaitsSince is when a slot first found no node since all had one; zero where none waits.
	WaitsSince time.Time
	// Homes are the nodes that have the volumes of slots, by ordinal: for as long as there is the service, whatever its
	// scale.
	Homes map[uint32]string
	// Failures are those of the current revision, by node.
	Failures map[string]Failures
	// Job is how far a job has come; nil where the service is none.
	Job *Job
	// Grown says since when slots are to be there, in order of the ordinals, as long as one of the service lacks an instance.
	Grown []Growth `json:",omitempty"`
	// Slots are the service's slots by ordinal. Those that it is not to have wait for their instances to go.
	Slots []*Slot

	spare   []Slot // those that come next
	indexed uint8  // the indexes that it stands in, as bits
	mayWait bool   // a slot of it waits because its last instance used up its restarts, or is to be looked for
	filled  int
	serving int
	total   int
	// lost counts the instances that are lost, absent those of them that nobody waits for.
	lost, absent int
	// outdated counts the instances of revisions that are not as the current one.
	outdated int
}

// Revision is one accepted spec of a service.
type Revision struct {
	Spec events.Spec
	Hash string
	// Images are what the names of images in the spec stand for, as the first node found that had one: for all instances.
	Images map[string]Image `json:",omitempty"`
	// Keeps are the earlier revisions whose instances are as this one says.
	Keeps []uint64 `json:",omitempty"`

	used int
}

// Slot is an instance's place in a service.
type Slot struct {
	// Last is the last generation that was placed.
	Last uint32
	// Current is the newest instance, where it shall run; nil where the slot waits for one.
	Current *Instance
	// Next takes the place of Current once it serves; nil where none is to.
	Next *Instance
	// Aside is what few slots have beside these; nil for nothing.
	Aside *Aside `json:",omitzero"`
	// Restarts counts how often an instance of it began again in the current revision, on its node or another in its place.
	Restarts uint32 `json:",omitzero"`
	// Since is when its last instance was retired, where it has had no other since; none where it begins anew.
	Since Moment `json:",omitzero"`
	// Fresh says that it has had no instance yet, of a job none in this run. One that comes back with the scale begins anew.
	Fresh bool `json:",omitzero"`
}

// Aside is what a slot has beside its current and its next instance while something happens to it.
type Aside struct {
	// Away are lost instances that another may stand in for until their nodes are back, oldest first. They shall run still.
	Away []*Instance `json:",omitempty"`
	// Leaving are the instances that shall stop, oldest first.
	Leaving []*Instance `json:",omitempty"`
	// NextServes is since when the next instance serves; zero where it does not.
	NextServes time.Time `json:",omitzero"`
	// Tries counts the successors of the current instance that went without having taken its place since its node is drained, the last at
	// TriedAt.
	Tries   uint32    `json:",omitzero"`
	TriedAt time.Time `json:",omitzero"`
	// Ended is a job's last instance here that completed or failed in the current revision, as it was then; nil for none.
	Ended *Instance `json:",omitzero"`
	// Crashes are the ends in a row of its instances; nil where there was none since one served for long.
	Crashes *Crashes `json:",omitzero"`
}

// Beside returns what the slot has beside its current and its next instance.
func (s *Slot) Beside() Aside { return orZero(s.Aside) }

// aside changes what the slot has beside its current and its next instance, and lets go of it where nothing is left.
func (s *Slot) aside(change func(*Aside)) {
	if s.Aside == nil {
		s.Aside = &Aside{}
	}
	change(s.Aside)
	if a := s.Aside; len(a.Away) == 0 && len(a.Leaving) == 0 && a.NextServes.IsZero() && a.Tries == 0 && a.Ended == nil && a.Crashes == nil {
		s.Aside = nil
	}
}

// Instance is one incarnation of a slot. What few instances have stands behind pointers: there are hundreds of thousands.
type Instance struct {
	ID       events.InstanceID
	Revision uint64
	Node     string
	Address  string
	Ports    []events.PortBinding
	// Reserved is what is set aside for it on its node.
	Reserved events.Resources
	// SecurityContext is what its containers may do where its spec does not say.
	SecurityContext events.SecurityContext `json:",omitempty"`
	// Special is what it was placed with that few are; nil for nothing.
	Special *Special `json:",omitzero"`
	// Decided is the sequence of the event that decided its order, and Counter the node's count of orders there.
	Decided uint64
	Counter uint64
	// Seen is how far it came on its node.
	Seen events.Position
	// Ending is why it shall stop, or why it is offline; nil where it shall run and does, or comes to.
	Ending *Ending `json:",omitzero"`
	Times  Times
	// Answer is how it last answered what it was asked as the topology changes, or for a snapshot; nil for not yet.
	Answer *events.Confirmation `json:",omitzero"`
	// Lost says that its node was silent for too long, and has not said since what became of it.
	Lost bool `json:",omitzero"`
	// Differs says that it was made from another image than its revision has.
	Differs bool `json:",omitzero"`
	// Output says that what its container printed last was kept, under the key of the attempt that was seen.
	Output bool `json:",omitzero"`
}

// Special is what few instances are placed with.
type Special struct {
	// Run is that of a job with a schedule; 0 for any other service.
	Run uint64 `json:",omitzero"`
	// Scratch is how much scratch disk it has.
	Scratch events.Size `json:",omitzero"`
	// Window is how long after its node was last heard it may run there; 0 for no such bound. Epoch is the node epoch in which one with
	// such a bound was placed.
	Window events.Duration `json:",omitzero"`
	Epoch  uint64          `json:",omitzero"`
	// Restore is what its volumes are to hold before it first runs; nil for what they hold anyway.
	Restore *events.Restore `json:",omitzero"`
}

// Ending is why an instance shall stop, or does not run. It is never changed, but replaced.
type Ending struct {
	// Retired says why it shall stop; "" where it shall run.
	Retired events.RetireReason `json:",omitempty"`
	// Reason, ExitCode and Message explain events.PhaseOffline.
	Reason   events.OfflineReason `json:",omitempty"`
	ExitCode *int32               `json:",omitzero"`
	Message  string               `json:",omitempty"`
	// NoRestart is why its node does not start it again; "" where it does.
	NoRestart events.NoRestart `json:",omitempty"`
}

// PlacedWith returns what it was placed with that few are.
func (i *Instance) PlacedWith() Special { return orZero(i.Special) }

// special changes what it was placed with.
func (i *Instance) special(s Special) {
	if i.Special = nil; s != (Special{}) {
		i.Special = &s
	}
}

// Ended returns why it shall stop, or does not run.
func (i *Instance) Ended() Ending { return orZero(i.Ending) }

func (i *Instance) ends(e Ending) {
	if i.Ending = nil; e != (Ending{}) {
		i.Ending = &e
	}
}

// Retired says why it shall stop; "" where it shall run.
func (i *Instance) Retired() events.RetireReason {
	if i.Ending == nil {
		return ""
	}
	return i.Ending.Retired
}

// Confirmed returns how it last answered what it was asked.
func (i *Instance) Confirmed() events.Confirmation { return orZero(i.Answer) }

// orZero returns what the pointer points to; the zero value where it is nil.
func orZero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// Rests reports whether nothing of the instance runs, and its node starts it no more.
func (i *Instance) Rests() bool {
	return i.Seen.Phase >= events.PhaseCompleted || (i.Seen.Phase == events.PhaseOffline && i.Ended().NoRestart != "")
}

// Takes is what is set aside for the instance now. What rests takes no CPU and no memory. Its files are there until it is removed,
// and so are its ports, which it would publish again.
func (i *Instance) Takes() events.Resources {
	if i.Rests() {
		return events.Resources{Disk: i.Reserved.Disk}
	}
	return i.Reserved
}

// Serves reports whether the instance is known to serve: of one whose node has begun anew since it was seen, nobody knows.
func (c *Cluster) Serves(i *Instance) bool {
	n := c.Nodes[i.Node]
	return n.Heard() && i.Seen.Phase == events.PhaseOnline && !i.Differs && (!i.Lost || i.Seen.Epoch == n.Epoch)
}

// Current returns the current revision.
func (s *Service) Current() *Revision { return s.Revisions[s.Revision] }

// Serving counts the instances that shall run, are of the current revision and serve.
func (s *Service) Serving() int { return s.serving }

// Filled counts the slots that have an instance which shall run.
func (s *Service) Filled() int { return s.filled }

// Total counts all instances, those that shall stop included.
func (s *Service) Total() int { return s.total }

// Settled reports whether the service is as it shall be: every slot serves in the current revision and no other
// instance is left, but for those that are lost and shall stop or have a replacement. A job is once it is done or given up, and while it waits for the first run of its schedule. So is a service
// whose update is paused while every slot serves in whatever revision it is to have by then, and one that is suspended once nothing is
// waited for any more.
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

// Proven reports whether the service is settled, and its instances have served for as long as counts where all of its revision did not before.
func (s *Service) Proven(now time.Time) bool { return s.Settled() && !now.Before(s.provenAt()) }

// provenAt is when the instances of a service that is as it should be in this revision for the first time have served for as long as
// counts; the zero time for any other. One without instances proves nothing.
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

// excused counts the slots that are not waited for: those of a global service whose nodes are lost, as no other node can have them.
func (s *Service) excused() int {
	if !s.Current().Spec.Global() {
		return 0
	}
	return s.lost - s.absent
}

// Excused reports whether the slot is not waited for.
func (s *Service) Excused(ordinal uint32) bool {
	if int(ordinal) >= len(s.Slots) || !s.Current().Spec.Global() {
		return false
	}
	i := s.Slots[ordinal].Current
	return i != nil && i.Lost
}

// Lacks reports whether a slot that the service is to have has no instance. Of a job, whether fewer run than may.
func (s *Service) Lacks() bool { return s.filled < s.Wanted() }

// Instances yields every instance of the service, slot by slot, the oldest of a slot first.
func (s *Service) Instances() iter.Seq[*Instance] {
	return func(yield func(*Instance) bool) {
		for _, slot := range s.Slots {
			if a := slot.Aside; a != nil && (!all(a.Leaving, yield) || !all(a.Away, yield)) {
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

// keepHome remembers where the slot's volumes are. An instance without volumes has the slot leave them behind.
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
	return !s.Dropped && !s.Resting() && s.Revisions[s.Revision] != nil && s.outdated > 0
}

func (s *Slot) find(generation uint32) *Instance {
	if s.Current != nil && s.Current.ID.Generation == generation {
		return s.Current
	}
	if s.Next != nil && s.Next.ID.Generation == generation {
		return s.Next
	}
	a := s.Beside()
	for _, others := range [...][]*Instance{a.Leaving, a.Away} {
		for _, i := range others {
			if i.ID.Generation == generation {
				return i
			}
		}
	}
	return nil
}

// Remains returns the first instance that may run beside what the slot has or is to have; nil for none. What is exclusive and
// lost has ended.
func (s *Slot) Remains() *Instance {
	a := s.Beside()
	for _, i := range a.Leaving {
		if !i.Lost || i.PlacedWith().Window == 0 {
			return i
		}
	}
	if len(a.Away) > 0 {
		return a.Away[0]
	}
	return nil
}

func (s *Slot) empty() bool {
	a := s.Beside()
	return s.Current == nil && s.Next == nil && len(a.Leaving) == 0 && len(a.Away) == 0
}

// slot returns the slot of this ordinal, making it and those below it where they are missing.
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

// makeSpare makes several slots at once, within a bound, where the service lacks as many.
func (s *Service) makeSpare() {
	const most = 32
	lacks := max(int(s.Span())-len(s.Slots), 1)
	s.spare = make([]Slot, min(lacks, most))
	s.Slots = slices.Grow(s.Slots, lacks)
}

// NextGeneration returns the generation that the slot's next instance has.
func (s *Service) NextGeneration(ordinal uint32) uint32 {
	if int(ordinal) < len(s.Slots) {
		return s.Slots[ordinal].Last + 1
	}
	return s.Floor + 1
}

// Fresh reports whether the slot has had no instance yet, so that its next one takes no other's place.
func (s *Service) Fresh(ordinal uint32) bool {
	return int(ordinal) >= len(s.Slots) || s.Slots[ordinal].Fresh
}

// beginAnew resets the slot to one without an instance so far.
func (s *Slot) beginAnew() {
	s.Fresh, s.Restarts, s.Since = true, 0, 0
	s.aside(func(a *Aside) { a.Crashes = nil })
}

// renew has the slot begin anew where it has no instance which shall run.
func (s *Slot) renew() {
	if s.Current == nil {
		s.beginAnew()
	}
}

// renew has the slots begin anew that have no instance which shall run.
func (s *Service) renew() {
	for _, slot := range s.Slots {
		slot.renew()
	}
}

// scaled has the service be of another scale. What it lets go of begins anew if it comes back.
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

// succeed has the instance take the place of the slot's current one once it serves.
func (s *Service) succeed(i *Instance) {
	slot := s.slot(i.ID.Ordinal)
	slot.Last = i.ID.Generation
	slot.Next = i
	s.use(i)
}

// use counts an instance that there is.
func (s *Service) use(i *Instance) {
	s.total++
	s.Revisions[i.Revision].used++
	if !s.UpToDate(i) {
		s.outdated++
	}
}

func (s *Service) retire(i *Instance, reason events.RetireReason, now time.Time) {
	before := s.isAbsent(i)
	if !s.isAway(i) { // what stands in for one that is away serves on
		s.servesNoMore(i)
	}
	s.leave(i)
	ending := i.Ended()
	ending.Retired = reason
	i.ends(ending)
	s.countAbsent(i, before)
	slot := s.Slots[i.ID.Ordinal]
	slot.aside(func(a *Aside) { a.Leaving = append(a.Leaving, i) })
	if reason == events.RetireScaledDown || reason == events.RetireDropped || reason == events.RetireSuspended {
		slot.beginAnew()
	} else if slot.Current == nil {
		slot.Since = momentOf(now)
	}
}

// leave has the instance be no more what its slot has or is to have.
func (s *Service) leave(i *Instance) {
	slot := s.Slots[i.ID.Ordinal]
	s.Moved = s.Moved || (s.Topology != nil && slot.Current == i)
	slot.forgetAway(i)
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

// remove forgets an instance, and the slots at the end that nobody needs any more.
func (s *Service) remove(i *Instance) {
	if s.isAbsent(i) {
		s.absent--
	}
	s.leave(i)
	slot := s.Slots[i.ID.Ordinal]
	slot.aside(func(a *Aside) { a.Leaving = but(a.Leaving, i) })
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

// countServing adds by for an instance that serves: 1 when it begins to count, -1 when it ends.
func (s *Service) countServing(i *Instance, by int) {
	if s.Slots[i.ID.Ordinal].Current == i && i.Seen.Phase == events.PhaseOnline && !i.Lost && !i.Differs && s.UpToDate(i) {
		s.serving += by
	}
}
