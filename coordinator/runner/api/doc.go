// Package api answers the questions below rookery.api: from the present state, which it reads through State, or from the log. It changes
// nothing. Answers that take longer than a glance at the state are computed outside the loop of the coordinator; turns.go bounds how many
// at once.
//
// A question is one row of the table in questions.go, and a method that reads its body, finds what is asked for and encodes the answer. The
// answer to a malformed question shows an example.
package api
