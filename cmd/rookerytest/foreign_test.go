package rookerytest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestTheLogBearsWhatOthersPutIntoIt lets a plain client put 10,000 messages into the log, in bursts: unreadable messages and beginnings of
// rounds. In half of the bursts the test kills the leader. After each burst Rookery carries out a command. In the end the state is that of
// the log without these messages.
func TestTheLogBearsWhatOthersPutIntoIt(t *testing.T) {
	t.Parallel()
	bursts, each := 20, 500
	if testing.Short() {
		bursts, each = 2, 20
	}
	random := seed(t)
	cluster := startCluster(t, rookerytest.WithoutCoordinator())
	leader := startCoordinator(t, cluster)
	commands := []uint64{cluster.Publish("demo/web", "ensure", `{"image":"localhost/web:1","scale":1}`)}
	cluster.Outcome(commands[0])
	slowest := time.Duration(0)
	for burst := range bursts {
		commands = append(commands, cluster.Publish("demo/web", "scale", scaleBody(1+burst%3)))
		for range each {
			if _, err := cluster.Bus().Publish(t.Context(), foreign(random)); err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(2) == 0 {
			leader.kill()
			leader = startCoordinator(t, cluster)
		}
		began := time.Now()
		last := cluster.Publish("demo/web", "scale", scaleBody(1+burst%4))
		commands = append(commands, last)
		cluster.Outcome(last)
		slowest = max(slowest, time.Since(began))
	}
	h := readHistory(t, cluster)
	h.checkCommands(t, commands)
	checkActual(t, cluster, h.cluster)
	cluster.CheckReplay()
	fmt.Printf("foreign messages %d, bursts %d, the slowest command after one took %.1f s\n", bursts*each, bursts, slowest.Seconds())

	plain, rounds := projections.NewCluster(), 0
	whole := cluster.Replay(func(records []events.Record) {
		end := len(records) - 1
		if end < 0 {
			return
		}
		closed, ok := records[end].Data.(events.RoundClosed)
		if !ok {
			return // a void
		}
		rounds++
		for _, r := range records[:end] {
			if err := plain.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		plain.Close(records[end].Sequence, closed, events.Chain{})
	})
	plain.Chain = whole.Chain
	if plain.Hash() != whole.Hash() {
		t.Errorf("after %d rounds the state is another than that of the log without what others have put there", rounds)
	}
	snapshot, err := projections.SnapshotOf(whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	if err := snapshot.Write(&stored); err != nil {
		t.Fatal(err)
	}
	read, err := projections.DecodeFold(&stored, whole.LogID(), nil)
	if err != nil || read.Hash() != whole.Hash() {
		t.Errorf("the snapshot of the state is another: %v", err)
	}
}

// foreign returns a message that no coordinator wrote.
func foreign(random *rand.Rand) events.Message {
	subjects := []string{"rookery.log.x", "rookery.log.round", "rookery.log.cluster.round.void", "rookery.log.service.demo.web.instance.placed", "rookery.log.node.node-0.silent"}
	subject := subjects[random.IntN(len(subjects))]
	switch random.IntN(3) {
	case 0:
		return events.Message{Subject: subject, Header: events.Header{}, Body: []byte("hi")}
	case 1:
		body, _ := json.Marshal(map[string]uint64{"scale": random.Uint64()})
		return events.Message{Subject: subject, Header: events.Header{"ce-type": {"io.rookery.service.v9.scaled"}}, Body: body}
	}
	m, err := events.Record{
		Event:    events.Event{Scope: events.NodeScope("ghost"), Data: events.NodeSilent{}},
		Sequence: random.Uint64(), Time: time.Unix(random.Int64N(1<<32), 0),
	}.Message("torn")
	if err != nil {
		panic(err)
	}
	return m
}
