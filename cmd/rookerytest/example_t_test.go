package rookerytest_test

import (
	"fmt"
	"os"
	"testing"
)

// exampleT is the part of *testing.T that Start needs, for the example.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func (t *exampleT) Helper()                           {}
func (t *exampleT) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Failed() bool                      { return false }
func (t *exampleT) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (t *exampleT) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (t *exampleT) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (t *exampleT) TempDir() string {
	dir, err := os.MkdirTemp("", "rookery-example")
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			panic(err)
		}
	})
	return dir
}

func (t *exampleT) cleanUp() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}
