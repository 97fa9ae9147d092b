package schedule_test

import (
	"os"
	"os/exec" // want: depguard "nothing below it"
	"testing"

	"github.com/rookery-project/rookery/node/plan" // want: depguard "meet only in events"
)

func TestPure(t *testing.T) {
	t.Log(os.Args, exec.ErrNotFound)
	t.Log(plan.Name)
}
