package projections_test

import (
	"os"
	"os/exec" // want: depguard "nothing below it"
	"testing"
)

func TestPure(t *testing.T) {
	t.Log(os.Args, exec.ErrNotFound)
}
