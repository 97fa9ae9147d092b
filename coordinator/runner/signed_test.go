package runner_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// leads runs a coordinator until its log has the line, and returns that.
func leads(t *testing.T, b bus.Bus, line string) string {
	t.Helper()
	read, write := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	c := runner.New(runner.Config{Bus: b, Name: "signs", Program: events.Program{Levels: events.OwnLevels}, Signers: runner.Signers{events.SignerOf([32]byte{1})}, Log: slog.New(slog.NewTextHandler(write, nil))})
	go func() {
		ended <- c.Run(ctx)
		_ = write.Close() // returns nil
	}()
	text, found := make([]byte, 0, 1<<16), ""
	chunk := make([]byte, 1<<12)
	for {
		n, err := read.Read(chunk)
		if err != nil {
			break
		}
		text = append(text, chunk[:n]...)
		if at := strings.Index(string(text), line); at >= 0 && found == "" {
			found, _, _ = strings.Cut(string(text[at:]), "\n")
			cancel()
		}
	}
	if err := <-ended; err != nil || found == "" {
		t.Fatalf("the coordinator ended with %v, and its log has no %q:\n%s", err, line, text)
	}
	return found
}

// TestADamagedEndIsNotVoided changes the signature of the last round, for which orders were written. The coordinator must not take the round for that of
// another client.
func TestADamagedEndIsNotVoided(t *testing.T) {
	b := memory.New(time.Now)
	b.Accounts = true
	leads(t, b, "msg=leading")
	for { // until the founding round is in the log
		if state, err := b.State(t.Context(), bus.Log); err != nil || state.Last > 0 {
			break
		}
		leads(t, b, "msg=leading")
	}
	leads(t, b, "msg=leading") // marks the orders as following that
	log := b.Backup(bus.Log)
	messages := slices.Clone(log.Messages())
	last := &messages[len(messages)-1]
	last.Header = events.Header{}
	for name, values := range log.Messages()[len(messages)-1].Header {
		last.Header[name] = values
	}
	last.Header["Rookery-Signature"] = []string{"AAAA"}
	state, err := b.State(t.Context(), bus.Log)
	if err != nil {
		t.Fatal(err)
	}
	b.Restore(bus.Log, memory.NewBackup(state.Identity, messages))
	if why := leads(t, b, "asking again about the streams"); !strings.Contains(why, "orders were written for the round") {
		t.Errorf("the coordinator says: %s", why)
	}
	if after, err := b.State(t.Context(), bus.Log); err != nil || after.Last != state.Last {
		t.Errorf("the log ended at %d and ends at %d: %v", state.Last, after.Last, err)
	}
}
