package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// asked is what an accepted command wants of its service, as far as a person would read it from the body.
type asked struct {
	verb  string
	Image string `json:"image"`
	Scale *int64 `json:"scale"`
	To    uint64 `json:"to"`
	IfSeq uint64 `json:"if_seq"`
	// Services are what a command to a group wants of each, and After those that one comes after.
	Services map[string]asked `json:"services"`
	After    []string         `json:"after"`
	// revision is the service's when the command was taken, and good how it was last as it should be.
	revision uint64
	good     *good
	// rests says that the service rested then.
	rests    bool
	Snapshot uint64 `json:"snapshot"`
	// suspends says that the service was about to rest.
	suspends bool
}

// wants notes what the command that begins asked for. A log that is read again may have the sequences of another
// inbox.
func (k *knowledge) wants(j *judge, sequence uint64, verb string, id events.ServiceID) {
	k.takesWhileItRests(j, sequence, verb, id)
	delete(k.back, id)
	k.asksAnew(id)
	want, known := j.read(sequence)
	if !known || id.Namespace == "" {
		delete(k.asked, id)
		return
	}
	want.verb = verb
	if s := k.services[id]; s != nil {
		want.revision, want.good, want.rests = s.revision, s.good, s.rest != nil && s.restsNow()
		want.suspends = s.rest != nil && !want.rests
	}
	k.asked[id] = want
}

// read returns what a command says; false for one that is not known.
func (j *judge) read(sequence uint64) (asked, bool) {
	a, known := j.sent[sequence]
	if !known || j.rereading {
		return asked{}, false
	}
	var envelope struct {
		Data asked `json:"data"`
	}
	if strings.Contains(a.Header["Content-Type"], "cloudevents") {
		_ = json.Unmarshal([]byte(a.Body), &envelope)
		return envelope.Data, true
	}
	_ = json.Unmarshal([]byte(a.Body), &envelope.Data)
	return envelope.Data, true
}

// unseen holds a command that is accepted, or begins after it waited, to be one whose sender has seen the service as it
// is, where it says so.
func (k *knowledge) unseen(j *judge, sequence uint64, id events.ServiceID) {
	said, _ := j.read(sequence)
	if s := k.services[id]; s != nil && said.IfSeq > 0 && s.changed > said.IfSeq {
		j.breach("P1", "command %d is taken for %s as of %d, which was changed at %d", sequence, id, said.IfSeq, s.changed)
	}
}

// scaled learns how many instances a service shall have. A global one has as many as there are nodes for it: nobody has
// changed it.
func (k *knowledge) scaled(id events.ServiceID, sequence uint64, d events.ServiceScaled) {
	s := k.service(id)
	s.scale, s.waits = d.Scale, false
	if !s.specs[s.revision].Global() {
		s.changed = sequence
	}
}

// obliged holds the log to desire what the commands of a round asked for, of several for a service what the last did.
func (k *knowledge) obliged(j *judge) {
	k.wentBack(j)
	for _, id := range slices.SortedFunc(maps.Keys(k.asked), events.ServiceID.Compare) {
		want, s := k.asked[id], k.services[id]
		switch {
		case want.verb == "cancel" && want.rests:
			if s == nil || !s.restsNow() {
				j.breach("P1", "%s rested, and a command to cancel was to change nothing", id)
			}
		case want.verb == "cancel" && want.suspends:
			if s == nil || s.dropped || s.rest != nil || s.revision != want.revision {
				j.breach("P1", "%s was about to rest, and a command to cancel was to have it go on", id)
			}
		case want.verb == "drop", want.verb == "cancel" && want.good == nil:
			if s != nil && !s.dropped {
				j.breach("P1", "%s was to be dropped, and is not", id)
			}
		case s == nil || s.dropped:
			j.breach("P1", "%s was to be there, and is not", id)
		case want.Scale != nil && s.scale != uint32(*want.Scale):
			j.breach("P1", "%s was to have %d instances, and has a scale of %d", id, *want.Scale, s.scale)
		case want.Image != "" && s.specs[s.revision].Image != want.Image:
			j.breach("P1", "%s was to run %s, and its revision runs %s", id, want.Image, s.specs[s.revision].Image)
		case (want.verb == "suspend") != (s.rest != nil):
			j.breach("P1", "%s was to %s, and is suspended: %t", id, want.verb, s.rest != nil)
		case want.verb == "resume" && want.Snapshot > 0 && (s.back == nil || !s.back.named || s.back.version != want.Snapshot):
			j.breach("P1", "%s was to come from snapshot %d, and comes from %+v", id, want.Snapshot, s.back)
		default:
			want.wentBack(j, id, s)
		}
	}
	clear(k.asked)
}

// repeats holds a command that is taken for an earlier one said again to be that.
func (k *knowledge) repeats(j *judge, d events.CommandRepeated) {
	a, known := j.sent[d.Sequence]
	of, ofKnown := j.sent[d.Of]
	if known && ofKnown && !j.rereading && (a.Subject != of.Subject || a.Body != of.Body || !slices.Equal(a.Raw, of.Raw)) {
		j.breach("P3", "command %d is taken for command %d said again, and has another body", d.Sequence, d.Of)
	}
}
