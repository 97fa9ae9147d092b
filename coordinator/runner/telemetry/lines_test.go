package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
)

func TestTheLogSaysWhatMattersOfARound(t *testing.T) {
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	failed := happened(1, events.CommandFailed{Sequence: 7, Reason: events.ReasonSnapshotFailed, Message: "nothing held still"})
	failed.Sequence = 12
	Log(t.Context(), log, []events.Record{
		failed,
		happened(1, events.InstancePlaced{}),
		happened(1, events.OperationEnded{Outcome: events.OperationDone}),
		happened(1, events.OperationEnded{Outcome: events.OperationAborted, Message: "two slots are late"}),
		{Event: events.Event{Scope: events.NodeScope("attic-1"), Data: events.NodeSilent{}}},
	})
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	want := []string{
		`level=WARN msg=command.failed reason=snapshot-failed message="nothing held still" service=demo/web command=7 sequence=12`,
		`level=INFO msg=operation.ended outcome=done service=demo/web command=7 sequence=0`,
		`level=WARN msg=operation.ended outcome=aborted message="two slots are late" service=demo/web command=7 sequence=0`,
		`level=WARN msg=node.silent node=attic-1 sequence=0`,
	}
	if len(lines) != len(want) {
		t.Fatalf("a round of five events is %d lines, want %d:\n%s", len(lines), len(want), said.String())
	}
	for i, line := range lines {
		if _, rest, _ := strings.Cut(line, " "); rest != want[i] {
			t.Errorf("line %d is\n%s, want\n%s", i+1, rest, want[i])
		}
	}
}
