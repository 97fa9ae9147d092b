// Package api answers the questions below rookery.api: from the present state, which it reads through State, or from the log. It changes
// nothing, and what takes longer than a glance at the state is worked out beside the loop of the coordinator, within a bound of how many at
// once (turns.go).
//
// A question is one row of the table in questions.go, and a method that reads its body, finds what is asked for and encodes the answer. Who
// asks wrongly is answered with an example.
package api
