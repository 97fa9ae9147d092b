// Package style breaks each of the laws that hold everywhere.
package style

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
)

// Colour is an enumeration.
type Colour int

// The colours.
const (
	Red Colour = iota
	Green
)

// Guarded must not be copied.
type Guarded struct {
	mu sync.Mutex
}

type failure struct{}

func (*failure) Error() string { return "failure" }

// Missing leaves a member of an enumeration to the default case.
func Missing(c Colour) string {
	switch c { // want: exhaustive "Green"
	case Red:
		return "red"
	default:
		return "other"
	}
}

// Compares an error without unwrapping it.
func Compares(err error) bool {
	return err == io.EOF // want: errorlint "errors.Is"
}

// Asserts the type of an error without unwrapping it.
func Asserts(err error) bool {
	_, ok := err.(*failure) // want: errorlint "errors.As"
	return ok
}

// Flattens an error into text.
func Flattens(err error) error {
	return fmt.Errorf("flattened: %v", err) // want: errorlint "%w"
}

// Multiplies in a roundabout way.
func Multiplies(n int) int {
	n = n * 2 // want: gocritic "assignOp"
	return n
}

// Copies a lock.
func Copies(g *Guarded) {
	g.mu.Lock()
	defer g.mu.Unlock()
	other := *g // want: govet "copylocks"
	_ = &other
}

// Drops an error.
func Drops() {
	os.Remove("nothing") // want: errcheck "os.Remove"
}

// Overwrites a value nobody has read.
func Overwrites() int {
	n := len(os.Args) // want: ineffassign "ineffectual"; staticcheck "SA4006"
	n = 2
	return n
}

// Simplifies too little.
func Simplifies(yes bool) bool {
	if yes == true { // want: staticcheck "S1002"
		return errors.Is(nil, io.EOF)
	}
	return false
}

// Converts to the type it has.
func Converts(n int) int {
	return int(n) // want: unconvert "unnecessary"
}

func forgotten() {} // want: unused "forgotten"

// Leaks the body of a response.
func Leaks(req *http.Request) (int, error) {
	resp, err := http.DefaultClient.Do(req) // want: bodyclose "must be closed"
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, nil
}

// Detaches a command from its context.
func Detaches() error {
	return exec.Command("true").Run() // want: noctx "CommandContext"
}

// Misspells a word in a comment.
func Misspells() {
	// want-below: misspell "is a misspelling of"
	// This comment will recieve a correction.
}

// Unfinished has a comment without a full stop // want: godot "period"
func Unfinished() {}

func Undocumented() {} // want: revive "Undocumented"

// Something is the name of another function, want: revive "NamedOtherwise ...".
func NamedOtherwise() {}

// Bare has its lock silenced without a reason.
func Bare(n int) int {
	// want-below: nolintlint "explanation"
	return int(n) //nolint:unconvert
}

// Broad silences everything.
func Broad(n int) int {
	// want-below: nolintlint "mention specific linter"
	return int(n) //nolint // the reason does not help, nothing is named
}

// Idle silences what does not sound.
func Idle(n int) int {
	// want-below: nolintlint "unused"
	return n //nolint:unconvert // there is no conversion here
}

// Excused shows the form that is accepted.
func Excused(n int) int {
	return int(n) //nolint:unconvert // the fixture shows an accepted excuse
}
