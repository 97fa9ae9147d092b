package runner

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// filling is a bus whose account has so much room.
type filling struct {
	bus.Bus
	room *bus.Room
}

func (f filling) Room(context.Context) (bus.Room, error) { return *f.room, nil }

// TestTheLeaderWarnsLongBeforeTheAccountIsFull fills the account, and counts what is said of it.
func TestTheLeaderWarnsLongBeforeTheAccountIsFull(t *testing.T) {
	var said bytes.Buffer
	room := bus.Room{Used: 60, Most: 100}
	l := &leader{ctx: t.Context(), Coordinator: New(Config{Bus: filling{memory.New(time.Now), &room}, Log: slog.New(slog.NewTextHandler(&said, nil))})}
	now := time.Now()
	for _, tt := range []struct {
		after time.Duration
		used  uint64
		most  uint64
		want  int
	}{
		{0, 60, 100, 0}, {2 * roomEvery, 71, 100, 1}, {2*roomEvery + time.Minute, 80, 100, 1}, {3*roomEvery + time.Minute, 80, 100, 2}, {9 * roomEvery, 80, 0, 2},
	} {
		room.Used, room.Most = tt.used, tt.most
		l.watchRoom(now.Add(tt.after))
		if warned := strings.Count(said.String(), "runs full"); warned != tt.want {
			t.Errorf("after %s with %d of %d used it has warned %d times, want %d", tt.after, tt.used, tt.most, warned, tt.want)
		}
	}
}
