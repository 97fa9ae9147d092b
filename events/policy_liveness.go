package events

import "time"

// Defaults and limits of when nodes are silent and lost.
const (
	DefaultLostAfter = Duration(time.Minute)
	DefaultMaxSilent = Ratio(0.5)
	MinSilentAfter   = Duration(100 * time.Millisecond)
	MaxSilentAfter   = Duration(time.Hour)
	MinLostAfter     = Duration(time.Second)
	MaxLostAfter     = Duration(7 * 24 * time.Hour)
)

// Liveness says when a node without heartbeats is silent and then lost, and how many may be silent before none is lost.
type Liveness struct {
	// SilentAfter is how long the coordinator waits for a heartbeat before the node is silent, and never less than two heartbeats. Default:
	// three heartbeats.
	SilentAfter Duration `json:"silent_after,omitzero"`
	// LostAfter is how long a node is silent before it is lost. Its instances are lost with it, unless their service says otherwise.
	// Default: 1m.
	LostAfter Duration `json:"lost_after,omitzero"`
	// MaxSilent is the share of the nodes that are not lost which may be silent at once: while more are, nothing is lost. Default: 0.5;
	// with 1 there is no such bound.
	MaxSilent Ratio `json:"max_silent,omitzero"`
}

// WithDefaults returns it with the defaults written out, but for SilentAfter, which goes by the heartbeat.
func (l Liveness) WithDefaults() Liveness {
	if l.LostAfter == 0 {
		l.LostAfter = DefaultLostAfter
	}
	if l.MaxSilent == 0 {
		l.MaxSilent = DefaultMaxSilent
	}
	return l
}

// Silence is the time without a heartbeat after which a node is silent, by its interval of heartbeats. The loss of one heartbeat never
// makes a node silent.
func (l Liveness) Silence(heartbeat time.Duration) time.Duration {
	const missed, least = 3, 2
	if l.SilentAfter == 0 {
		return missed * heartbeat
	}
	return max(time.Duration(l.SilentAfter), least*heartbeat)
}

// Pauses reports whether so many of the nodes are silent that nothing is lost.
func (l Liveness) Pauses(silent, nodes uint32) bool {
	return float64(silent) > float64(l.WithDefaults().MaxSilent)*float64(nodes)
}

// canonical leaves out what is the default as a whole, so that policies from before keep their meaning.
func (l Liveness) canonical() Liveness {
	if l.WithDefaults() == (Liveness{}.WithDefaults()) {
		return Liveness{}
	}
	return l.WithDefaults()
}

// AskLiveness is Liveness as a command has it.
type AskLiveness struct {
	SilentAfter *Duration `json:"silent_after,omitzero"`
	LostAfter   *Duration `json:"lost_after,omitzero"`
	MaxSilent   *Ratio    `json:"max_silent,omitzero" jsonschema:"exclusiveMinimum=0,maximum=1"`
}

func (a *AskLiveness) set(l *Liveness) {
	if a != nil {
		set(&l.SilentAfter, a.SilentAfter)
		set(&l.LostAfter, a.LostAfter)
		set(&l.MaxSilent, a.MaxSilent)
	}
}

func (a *AskLiveness) check() error {
	switch {
	case a == nil:
		return nil
	case a.MaxSilent != nil && !(*a.MaxSilent > 0 && *a.MaxSilent <= 1): // NaN is neither
		return Reject(CodeOutOfRange, "liveness.max_silent", "liveness.max_silent %g is not above 0 and at most 1", *a.MaxSilent)
	case a.SilentAfter != nil && (*a.SilentAfter < MinSilentAfter || *a.SilentAfter > MaxSilentAfter):
		return Reject(CodeOutOfRange, "liveness.silent_after", "liveness.silent_after %s is not between %s and %s",
			time.Duration(*a.SilentAfter), time.Duration(MinSilentAfter), time.Duration(MaxSilentAfter))
	case a.LostAfter != nil && (*a.LostAfter < MinLostAfter || *a.LostAfter > MaxLostAfter):
		return Reject(CodeOutOfRange, "liveness.lost_after", "liveness.lost_after %s is not between %s and %s",
			time.Duration(*a.LostAfter), time.Duration(MinLostAfter), time.Duration(MaxLostAfter))
	}
	return nil
}
