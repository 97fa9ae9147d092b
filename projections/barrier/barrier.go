package barrier

// Participant is one of those that a barrier holds together.
type Participant struct {
	Ordinal uint32
	// Reached says that it is done with the phase.
	Reached bool
	// Missing says for people what it lacks for that.
	Missing string
	// Broken says for people why it is not and will not be; "" where it may be yet.
	Broken string
}

// State is what a barrier says.
type State uint8

// The states of a barrier.
const (
	Waiting State = iota // some are not done with the phase yet
	Passed               // all are
	Broken               // none is waited for, and some will never be
)

// Verdict says whether a barrier is passed, and who is to blame where it is not.
type Verdict struct {
	State State
	// Waits are those that are not done yet, and Broken those that never will be.
	Waits  []Participant
	Broken []Participant
}

// Awaited returns the ordinals of those that are not done yet.
func (v Verdict) Awaited() []uint32 {
	var ordinals []uint32
	for _, p := range v.Waits {
		ordinals = append(ordinals, p.Ordinal)
	}
	return ordinals
}

// Judge returns what is to be said of these participants. Without any the barrier is passed. One that is done stays so,
// whatever is said of it besides.
func Judge(participants []Participant) Verdict {
	var v Verdict
	for _, p := range participants {
		switch {
		case p.Reached:
		case p.Broken != "":
			v.Broken = append(v.Broken, p)
		default:
			v.Waits = append(v.Waits, p)
		}
	}
	switch {
	case len(v.Waits) > 0:
		v.State = Waiting
	case len(v.Broken) > 0:
		v.State = Broken
	default:
		v.State = Passed
	}
	return v
}
