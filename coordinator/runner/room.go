package runner

import (
	"context"
	"time"
)

// roomEvery is how often the leader looks how full the account is.
const roomEvery = time.Hour

// watchRoom warns long before the account is full: then nothing is decided any more.
func (l *leader) watchRoom(now time.Time) {
	if now.Sub(l.roomAt) < roomEvery {
		return
	}
	l.roomAt = now
	call, cancel := context.WithTimeout(l.ctx, sweepTimeout)
	defer cancel()
	room, err := l.Bus.Room(call)
	switch {
	case err != nil:
		l.Log.Warn("cannot look how much room the log has", "error", err)
	case room.Scarce():
		l.Log.Warn("the storage of the NATS account runs full; when it is, nothing is decided any more",
			"used", room.Used, "most", room.Most, "advice", "let go of the oldest part of the log with `rookery archive`, or raise the account's limit")
	}
}
