package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

func TestSilenceIsExplained(t *testing.T) {
	t.Parallel()
	of := func(heard ...time.Duration) bus.Peers {
		p := bus.Peers{Leader: "n0"}
		for i, h := range heard {
			p.Others = append(p.Others, bus.Peer{Name: fmt.Sprintf("n%d", i+1), Heard: h})
		}
		return p
	}
	for _, test := range []struct {
		peers bus.Peers
		err   error
		want  string
	}{
		{of(), nil, ""},
		{of(time.Second, 20*time.Second), nil, ""},
		{of(7*time.Second, 9*time.Second), nil, "no acknowledgement for 5s; n0 leads the log and last heard n1 7s ago, n2 9s ago: too few servers run," +
			" or they do not reach each other"},
		{of(), fmt.Errorf("%w: n1, n2 do not answer", bus.ErrNoQuorum), "the NATS servers have no quorum: most of them must run and reach each other:" +
			" n1, n2 do not answer"},
		{of(), fmt.Errorf("%w: %w", bus.ErrUnknown, context.DeadlineExceeded), "no acknowledgement for 5s, and no server leads the log: NATS elects a" +
			" leader, or too few servers run"},
		{of(), errors.New("JetStream is not enabled"), ""},
	} {
		got := ""
		if err := silenceOf(test.peers, test.err, 5*time.Second); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v, %v: %q, want %q", test.peers, test.err, got, test.want)
		}
	}
}
