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

// FirstAnswer returns how long the engine may take to answer a node that has not joined yet. A host that has just started is slow,
// and nothing depends on the node yet.
func FirstAnswer(answerTime time.Duration) time.Duration {
	return max(answerTime, 30*time.Second)
}

// missesDegrade is how many listings in a row must fail quickly before the engine counts as degraded. One alone may fail while the
// engine's service restarts.
const missesDegrade = 2

// Answering is how the engine has answered recently when the node asked it to list its containers.
type Answering struct {
	// Degraded tells the operator why the engine is unreliable; "" while it is reliable.
	Degraded string
	misses   int
}

// Missed returns the state after a listing that failed; took is how long the listing lasted. One listing that used up the answer time
// is enough to degrade the engine.
func (a Answering) Missed(err error, took, answerTime time.Duration) Answering {
	a.misses++
	if a.Degraded != "" || (a.misses < missesDegrade && took < answerTime) {
		return a
	}
	a.Degraded = err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		a.Degraded = fmt.Sprintf("its engine does not answer within %s: check whether the engine's service hangs, and restart it", answerTime)
	}
	a.Degraded = strings.ToValidUTF8(a.Degraded[:min(len(a.Degraded), events.MaxMessage)], "")
	return a
}

// Answered returns the state after a listing that the engine answered.
func (a Answering) Answered() Answering { return Answering{} }

// Holds reports whether the step waits until the engine answers again. A step that brings an instance up would fail now, and the node
// would count that as a failure of the instance. The node still tries to stop and remove instances.
func (a Answering) Holds(step Step) bool {
	return a.Degraded != "" && (step == StepPrepare || step == StepStart)
}
