package events_test

import (
	"crypto/rand"         // want: depguard "draw no lots"
	"database/sql"        // want: depguard "hold no connections"
	"io/fs"               // want: depguard "read no files"
	"log"                 // want: depguard "do not log"
	randv2 "math/rand/v2" // want: depguard "draw no lots"
	"net/http"            // want: depguard "no networking"
	"os"
	"os/exec" // want: depguard "nothing below it"
	"syscall" // want: depguard "operating system"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream" // want: depguard "only events/bus speaks JetStream"

	"github.com/rookery-project/rookery/events/bus"        // want: depguard "do not import impure"
	"github.com/rookery-project/rookery/projections/views" // want: depguard "do not import impure"
)

func TestGolden(t *testing.T) {
	golden, err := os.ReadFile("golden.json")
	t.Log(golden, err, rand.Text(), sql.ErrNoRows, fs.ErrExist, log.Flags(), randv2.Int())
	t.Log(http.MethodGet, exec.ErrNotFound, syscall.Getpid(), jetstream.Name, bus.Name, views.Name)
	t.Log(time.Now()) // want: forbidigo "own no clock"
	time.Sleep(0)     // want: forbidigo "own no clock"; forbidigo "do not sleep"
}
