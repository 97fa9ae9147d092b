// Package events breaks every law of a pure package once.
package events

import (
	crand "crypto/rand"   // want: depguard "draw no lots"
	"database/sql"        // want: depguard "hold no connections"
	"io/fs"               // want: depguard "read no files"
	"io/ioutil"           // want: depguard "read no files"; staticcheck "SA1019"
	"log"                 // want: depguard "do not log"
	"log/slog"            // want: depguard "do not log"
	"math/rand"           // want: depguard "draw no lots"
	randv2 "math/rand/v2" // want: depguard "draw no lots"
	"net"                 // want: depguard "no networking"
	"net/http"            // want: depguard "no networking"
	"os"                  // want: depguard "operating system"
	"os/exec"             // want: depguard "operating system"
	"syscall"             // want: depguard "operating system"

	"github.com/nats-io/nats.go/jetstream" // want: depguard "only events/bus speaks JetStream"

	"github.com/rookery-project/rookery/events/bus"        // want: depguard "do not import impure"
	"github.com/rookery-project/rookery/projections/views" // want: depguard "do not import impure"
)

// Uses keeps the imports alive.
var Uses = []any{
	crand.Text, sql.ErrNoRows, fs.ErrExist, ioutil.Discard, log.Flags, slog.Default, rand.Int, randv2.Int,
	net.IPv4len, http.MethodGet, os.Args, exec.ErrNotFound, syscall.Getpid,
	jetstream.Name, bus.Name, views.Name,
}
