package barrier

// Participant is one of the slots that a barrier holds together.
type Participant struct {
	Ordinal uint32
	// Reached says that the participant is done with the phase.
	Reached bool
	// Missing tells an operator what the participant still lacks.
	Missing string
	// Broken tells an operator why the participant can never be done; "" while it still can.
	Broken string
}

// State is the result of a barrier.
type State uint8

// The states of a barrier.
const (
	Waiting State = iota // some participants are not done with the phase yet
	Passed               // all participants are done
	Broken               // the barrier waits for no participant, and some can never be done
)

// Verdict says whether a barrier is passed, and which participants hold it up otherwise.
type Verdict struct {
	State State
	// Waits are the participants that are not done yet. Broken are those that can never be done.
	Waits  []Participant
	Broken []Participant
}

// Awaited returns the ordinals of the participants that are not done yet.
func (v Verdict) Awaited() []uint32 {
	var ordinals []uint32
	for _, p := range v.Waits {
		ordinals = append(ordinals, p.Ordinal)
	}
	return ordinals
}

// Judge returns the verdict over these participants. A barrier without participants is passed. A participant that is done
// stays done, also where Broken says why it failed afterwards.
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
