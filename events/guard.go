package events

// BusyPolicy says what happens to a command to a service whose earlier command has not ended.
type BusyPolicy string

// The policies of a busy service. An empty policy is BusyReject, and BusySupersede for drop; cancel always supersedes.
const (
	BusyReject    BusyPolicy = "reject"    // this command is rejected and names the holder
	BusyQueue     BusyPolicy = "queue"     // this command is accepted, and begins when those before it have ended
	BusySupersede BusyPolicy = "supersede" // the earlier command ends as superseded, and so do those that wait behind it
)

func (p BusyPolicy) check() error {
	switch p {
	case "", BusyReject, BusyQueue, BusySupersede:
		return nil
	}
	return Reject(CodeInvalidValue, "busy", "busy %s is unknown: want reject, queue or supersede", quote(string(p)))
}

// Guard says when a command to a service is taken.
type Guard struct {
	// Busy says what happens to this command while an earlier one to the service has not ended.
	Busy BusyPolicy `json:"busy,omitempty"`
	SeenAt
}

// When returns the guard of a command that has one.
func (g Guard) When() Guard { return g }

// SeenAt refuses a command where the service has changed since the sender saw it.
type SeenAt struct {
	// IfSeq is the sequence of the log that the sender has seen: where the service was revised, scaled, suspended, resumed or
	// dropped after it, the command is rejected, and fails where that was while it waited. 0 takes the service as it is.
	IfSeq uint64 `json:"if_seq,omitzero"`
}
