package events

import "time"

// RoundClosed is the last message of each round. The messages of the round before it count only once it is there.
type RoundClosed struct {
	// Round counts from 1.
	Round uint64 `json:"round"`
	// Epoch counts the coordinators that have led, from 1; Leader is the name of this one.
	Epoch  uint64 `json:"epoch"`
	Leader string `json:"leader"`
	// Now is the time of every decision of the round. It never runs backwards.
	Now time.Time `json:"now"`
	// Commands and Statuses are the sequences of the last messages whose effects are in the log.
	Commands uint64 `json:"commands"`
	Statuses uint64 `json:"statuses"`
	// CommandsKept is the sequence below which commands that have ended are forgotten, with their ids; those that end when they are below it
	// already, a day later.
	CommandsKept uint64 `json:"commands_kept"`
	// Policy is the version of the scheduling policy that was in force.
	Policy uint64 `json:"policy"`
	// Chain is the hash over the last round's chain and every event of this round.
	Chain Chain `json:"chain"`
}

// Kind implements Data.
func (RoundClosed) Kind() Kind { return v1("round", "closed") }
