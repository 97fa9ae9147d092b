package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Bounds of the answer time: how long the engine may take to answer a quick call.
const (
	DefaultAnswerTime = 10 * time.Second
	MinAnswerTime     = time.Second
	MaxAnswerTime     = 2 * time.Minute
)

// FirstAnswer returns how long the engine may take for what a node asks before it joins. A host that has just started is slow,
// and nothing counts on the node yet.
func FirstAnswer(answerTime time.Duration) time.Duration {
	return max(answerTime, 30*time.Second)
}

// missesDegrade is how many looks in a row may fail at once, as while the engine's service starts anew, before it counts as
// degraded.
const missesDegrade = 2

// Answering is how the engine has answered of late when it was asked for all that it has.
type Answering struct {
	// Degraded says for people why the engine cannot be relied on; "" where it can.
	Degraded string
	misses   int
}

// Missed returns it after a look that failed after so long. One that had all its time is enough.
func (a Answering) Missed(err error, took, answerTime time.Duration) Answering {
	a.misses++
	if a.Degraded != "" || (a.misses < missesDegrade && took < answerTime) {
		return a
	}
	a.Degraded = err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		a.Degraded = fmt.Sprintf("its engine does not answer within %s: see whether its service hangs, and restart that", answerTime)
	}
	a.Degraded = strings.ToValidUTF8(a.Degraded[:min(len(a.Degraded), events.MaxMessage)], "")
	return a
}

// Answered returns it after a look that was answered.
func (a Answering) Answered() Answering { return Answering{} }

// Holds reports whether the step waits until the engine answers again: what is begun now would fail, and be counted as a
// failure of the instance. What shall go is tried all the same.
func (a Answering) Holds(step Step) bool {
	return a.Degraded != "" && (step == StepPrepare || step == StepStart)
}
