package projections

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/golden"
)

// readLog returns the recorded log of that name.
func readLog(t *testing.T, name string) []events.Message {
	t.Helper()
	log, err := golden.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// eachLog runs a check on every recorded log. Together they have every kind of event.
func eachLog(t *testing.T, each func(*testing.T, []events.Message)) {
	t.Helper()
	for _, name := range golden.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, readLog(t, name))
		})
	}
}

// everyRound says that the tests check every nth round: each one, and fewer in short tests and under the race detector.
func everyRound() uint64 {
	if testing.Short() || racing {
		return 61
	}
	return 1
}

// TestASnapshotIsTheStateAtEveryRound takes a snapshot at the end of every round of the recorded logs and reads it. The result must
// equal the state, its indexes included, and encode to the same bytes.
func TestASnapshotIsTheStateAtEveryRound(t *testing.T) {
	eachLog(t, func(t *testing.T, log []events.Message) {
		fold := NewFold()
		for _, m := range log {
			take(t, fold, m)
			if fold.Cluster.Sequence != m.Sequence || fold.Cluster.Round%everyRound() != 0 {
				continue
			}
			body := encode(t, fold.Cluster)
			read, err := DecodeFold(bytes.NewReader(body), fold.Cluster.LogID(), nil)
			if err != nil {
				t.Fatalf("sequence %d: %v", m.Sequence, err)
			}
			if again := encode(t, read); string(again) != string(body) {
				t.Fatalf("sequence %d: the snapshot encodes to other bytes after it was read", m.Sequence)
			}
			if where := unlike(reflect.ValueOf(fold.Cluster), reflect.ValueOf(read)); where != "" {
				t.Fatalf("sequence %d: the state that was read differs: cluster%s", m.Sequence, where)
			}
		}
	})
}

// TestFromASnapshotAllGoesOnAsFromTheStart continues from a snapshot of every 150th round to the next one. At the end of each round the state must have the
// same hash as the fold from the first message, and at the next snapshot it must be equal, its indexes included: so it would go on alike to the end.
func TestFromASnapshotAllGoesOnAsFromTheStart(t *testing.T) {
	const apart = 150
	eachLog(t, func(t *testing.T, log []events.Message) {
		fold, begun, from := NewFold(), NewFold(), uint64(0)
		equal := func() {
			if where := unlike(reflect.ValueOf(fold.Cluster), reflect.ValueOf(begun.Cluster)); where != "" {
				t.Fatalf("from the snapshot at sequence %d on, the state at sequence %d differs from that from the start: cluster%s", from, fold.Cluster.Sequence, where)
			}
		}
		for _, m := range log {
			take(t, fold, m)
			take(t, begun, m)
			c := fold.Cluster
			if c.Sequence != m.Sequence {
				continue
			}
			if c.Round%everyRound() == 0 && begun.Cluster.Hash() != c.Hash() {
				t.Fatalf("from the snapshot at sequence %d on, the state at sequence %d has another hash than from the start", from, m.Sequence)
			}
			if c.Round%apart == 1 {
				equal()
				read, err := DecodeFold(bytes.NewReader(encode(t, c)), c.LogID(), nil)
				if err != nil {
					t.Fatal(err)
				}
				begun, from = Continue(read), m.Sequence
			}
		}
		equal()
		if from == 0 {
			t.Fatal("no snapshot was taken")
		}
	})
}

var writeFold = flag.Bool("write-fold", false, "write the hashes of the recorded logs' states to testdata")

// TestTheVersionClimbsWithTheFold checks that the fold still gives the states that it gave when FoldVersion was last raised. Otherwise a
// coordinator would use old snapshots although the fold has changed.
func TestTheVersionClimbsWithTheFold(t *testing.T) {
	made := fmt.Sprintf("version %d\n", FoldVersion)
	for _, name := range golden.Names() {
		fold := NewFold()
		for _, m := range readLog(t, name) {
			take(t, fold, m)
		}
		made += fold.Cluster.Hash() + " " + name + "\n"
	}
	const kept = "testdata/fold.txt"
	if *writeFold {
		if err := os.WriteFile(kept, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) != made {
		t.Errorf("the fold of a recorded log gives another state than before, or a log is new. If the fold has changed, raise FoldVersion; then run\n"+
			"go test ./projections -run VersionClimbs -write-fold\nbefore:\n%snow:\n%s", was, made)
	}
}

// TestASnapshotThatIsNotOfTheLogIsRefused changes each part of a snapshot that DecodeFold and Holds check.
func TestASnapshotThatIsNotOfTheLogIsRefused(t *testing.T) {
	log := readLog(t, "v1.json")
	fold := NewFold()
	var end events.Message
	for _, m := range log {
		take(t, fold, m)
		if _, closed := closing(m); closed && fold.Cluster.Round == 30 {
			end = m
			break
		}
	}
	whole := encode(t, fold.Cluster)
	id := fold.Cluster.LogID()
	middle := slices.Clone(whole)
	middle[len(middle)/2] ^= 1
	version := []byte(fmt.Sprintf(`"version":%d`, FoldVersion))
	for name, c := range map[string]struct {
		body []byte
		log  string
		want error
	}{
		"one bit is another":     {middle, id, ErrSnapshotDamaged},
		"its end is missing":     {whole[:len(whole)-1], id, ErrSnapshotDamaged},
		"it is empty":            {nil, id, ErrSnapshotDamaged},
		"it is of another log":   {whole, "another", ErrSnapshotOfOther},
		"its version is unknown": {replace(t, whole, version, []byte(`"version":99`)), id, ErrSnapshotVersion},
		"its hash is another":    {replace(t, whole, []byte(fold.Cluster.Hash()), []byte("00")), id, ErrSnapshotDamaged},
	} {
		if _, err := DecodeFold(bytes.NewReader(c.body), c.log, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	read, err := DecodeFold(bytes.NewReader(whole), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Holds(end); err != nil {
		t.Errorf("the snapshot's own log is refused: %v", err)
	}
	other := end
	other.Body = replace(t, end.Body, []byte(`"leader"`), []byte(`"leaDer"`))
	if err := read.Holds(other); !errors.Is(err, ErrSnapshotOfOther) {
		t.Errorf("with another closing message of the round: %v", err)
	}
	if err := read.Holds(log[0]); !errors.Is(err, ErrSnapshotOfOther) {
		t.Errorf("with the first message of the log: %v", err)
	}
}

// passedOver are the fields that only reserve memory or cache a look-up.
var passedOver = map[reflect.Type][]string{
	reflect.TypeFor[Cluster](): {"last"},
	reflect.TypeFor[Service](): {"spare"},
	reflect.TypeFor[Node]():    {"turned"}, // only the round that sets it reads it
}

// unlike says where two values differ, unexported fields included; "" for nowhere.
func unlike(a, b reflect.Value) string {
	if a.Kind() != b.Kind() {
		return fmt.Sprintf(": %s and %s", a.Kind(), b.Kind())
	}
	if a.Type() == reflect.TypeFor[time.Time]() { // the same moment may be written in two ways
		if unlike(a.Field(0), b.Field(0)) != "" && a.CanInterface() && !a.Interface().(time.Time).Equal(b.Interface().(time.Time)) {
			return fmt.Sprintf(": %v and %v", a, b)
		}
		return ""
	}
	switch a.Kind() { //nolint:exhaustive // all others are compared as they are
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return fmt.Sprintf(": nil %t and %t", a.IsNil(), b.IsNil())
			}
			return ""
		}
		return unlike(a.Elem(), b.Elem())
	case reflect.Struct:
		passed := passedOver[a.Type()]
		for i := range a.NumField() {
			if len(passed) > 0 && slices.Contains(passed, a.Type().Field(i).Name) {
				continue
			}
			if where := unlike(a.Field(i), b.Field(i)); where != "" {
				return "." + a.Type().Field(i).Name + where
			}
		}
		return ""
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return fmt.Sprintf(": %d and %d long", a.Len(), b.Len())
		}
		for i := range a.Len() {
			if where := unlike(a.Index(i), b.Index(i)); where != "" {
				return fmt.Sprintf("[%d]%s", i, where)
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() {
			return fmt.Sprintf(": %d and %d long", a.Len(), b.Len())
		}
		for _, k := range a.MapKeys() {
			if !b.MapIndex(k).IsValid() {
				return fmt.Sprintf("[%v]: there and not there", k)
			}
			if where := unlike(a.MapIndex(k), b.MapIndex(k)); where != "" {
				return fmt.Sprintf("[%v]%s", k, where)
			}
		}
		return ""
	}
	if !a.Equal(b) {
		return fmt.Sprintf(": %v and %v", a, b)
	}
	return ""
}

func take(t *testing.T, fold *Fold, m events.Message) {
	t.Helper()
	if _, err := fold.Take(m); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, c *Cluster) []byte {
	t.Helper()
	snapshot, err := SnapshotOf(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if err := snapshot.Write(&body); err != nil {
		t.Fatal(err)
	}
	if int64(body.Len()) != snapshot.Size() {
		t.Errorf("the snapshot says that it has %d bytes, and has %d", snapshot.Size(), body.Len())
	}
	return body.Bytes()
}

func closing(m events.Message) (events.RoundClosed, bool) {
	d, _, err := events.DecodeAs[events.RoundClosed](m)
	return d, err == nil
}

func replace(t *testing.T, body, what, with []byte) []byte {
	t.Helper()
	if bytes.Count(body, what) == 0 {
		t.Fatalf("the snapshot does not contain %s", what)
	}
	return bytes.Replace(body, what, with, 1)
}

// TestASnapshotThatCannotBeReadIsNotDamaged ends the reading in the middle.
func TestASnapshotThatCannotBeReadIsNotDamaged(t *testing.T) {
	c := NewCluster()
	body := encode(t, c)
	lost := errors.New("the connection is lost")
	_, err := DecodeFold(io.MultiReader(bytes.NewReader(body[:len(body)-10]), iotest.ErrReader(lost)), c.LogID(), nil)
	if !errors.Is(err, lost) || errors.Is(err, ErrSnapshotDamaged) || errors.Is(err, ErrSnapshotVersion) {
		t.Errorf("the error is %v", err)
	}
}
