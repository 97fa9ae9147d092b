package world

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections"
)

// golden holds a log of each version of the events that was ever released, with every kind of event in it. What is here
// is never written again: a new version of an event gets a log of its own.
//
//go:embed testdata/golden/*.json
var golden embed.FS

const goldenFolder = "testdata/golden"

// goldenMessage is a message of a golden log.
type goldenMessage struct {
	Subject string        `json:"subject"`
	Header  events.Header `json:"header"`
	Body    string        `json:"body"`
}

// goldenNames lists the golden logs in order.
func goldenNames() []string {
	entries, err := golden.ReadDir(goldenFolder)
	if err != nil {
		panic(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	return names
}

func readGolden(name string) ([]events.Message, error) {
	body, err := golden.ReadFile(path.Join(goldenFolder, name))
	if err != nil {
		return nil, err
	}
	var kept []goldenMessage
	if err := json.Unmarshal(body, &kept); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	messages := make([]events.Message, len(kept))
	for i, k := range kept {
		messages[i] = events.Message{Subject: k.Subject, Header: k.Header, Body: []byte(k.Body), Sequence: uint64(i) + 1}
	}
	return messages, nil
}

// earlier reports whether the judge reads what an earlier version wrote.
func (j *judge) earlier() bool { return j.rereading && j.w.plan.Golden }

// inherit has the cluster begin with a golden log, as one that was updated does, and an operator adopt it.
func (w *World) inherit() {
	names := goldenNames()
	messages, err := readGolden(names[w.plan.Seed%uint64(len(names))])
	if err != nil {
		panic(err)
	}
	fold := projections.NewFold()
	for _, m := range messages {
		if _, err := fold.Take(m); err != nil {
			w.breach("versions", "a log of an earlier version does not fold: %v", err)
			return
		}
	}
	w.plan.Nodes = max(w.plan.Nodes, len(fold.Cluster.Nodes)) // every node that the log knows is there
	time.Sleep(time.Until(fold.Cluster.Now) + time.Second)    // its time is over
	w.began = time.Now()
	w.server.Remake(bus.Commands)
	w.server.Restore(bus.Log, memory.NewBackup(fold.Cluster.LogID(), messages))
	w.judge.tampered = true
	w.judge.reread()
	w.at(w.began, func() bool { w.adopt(); return true })
}
