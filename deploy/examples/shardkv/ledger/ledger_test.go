package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rookery-project/rookery/deploy/examples/shardkv/ledger"
)

// slot is a server that owns every key, whatever the others do.
type slot struct {
	ordinal  int
	mu       sync.Mutex
	values   map[string]string
	versions map[string]uint64
}

func startSlot(t *testing.T, ordinal int) (address string) {
	t.Helper()
	s := &slot{ordinal: ordinal, values: map[string]string{}, versions: map[string]uint64{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func (s *slot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPut {
		s.versions[r.URL.Path]++
		s.values[r.URL.Path] = string(body)
	}
	w.Header().Set("X-Ordinal", strconv.Itoa(s.ordinal))
	w.Header().Set("X-Config-Version", "1")
	if s.versions[r.URL.Path] == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("X-Version", strconv.FormatUint(s.versions[r.URL.Path], 10))
	fmt.Fprint(w, s.values[r.URL.Path])
}

// closed returns an address at which no server answers.
func closed(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(nil)
	server.Close()
	return strings.TrimPrefix(server.URL, "http://")
}

// load runs a ledger at these addresses until it has 300 answers.
func load(t *testing.T, addresses ...string) ledger.Report {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	l := ledger.New(ledger.Config{Addresses: func() []string { return addresses }, Keys: 10, Seed: 1, Pause: time.Millisecond})
	done := make(chan ledger.Report, 1)
	go func() {
		report, err := l.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	if err := l.Await(ctx, 300, 1); err != nil {
		t.Error(err)
	}
	stop()
	return <-done
}

func TestAServiceThatKeepsItsPromises(t *testing.T) {
	r := load(t, startSlot(t, 0), closed(t))
	if err := r.Kept(); err != nil {
		t.Error(err)
	}
	if r.Puts == 0 || r.Gets == 0 || r.Puts+r.Gets < 300 || r.Unanswered != 0 {
		t.Errorf("%s, want every operation answered at the one address that has a server", r)
	}
}

func TestTwoSlotsThatServeTheSameKeys(t *testing.T) {
	if r := load(t, startSlot(t, 0), startSlot(t, 1)); r.DoubleOwners == 0 || r.Stale == 0 || r.Wrong == 0 || r.Kept() == nil {
		t.Errorf("%s: they were not found", r)
	}
}

func TestAWorkerGoesWhereItIsSent(t *testing.T) {
	owner := startSlot(t, 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMisdirectedRequest)
		fmt.Fprintf(w, `{"ordinal":0,"address":%q}`, owner)
	}))
	t.Cleanup(server.Close)
	if err := load(t, strings.TrimPrefix(server.URL, "http://")).Kept(); err != nil {
		t.Error(err)
	}
}

func TestALedgerThatIsFull(t *testing.T) {
	address := startSlot(t, 0)
	r, err := ledger.New(ledger.Config{Addresses: func() []string { return []string{address} }, Limit: 50}).Run(t.Context())
	if !errors.Is(err, ledger.ErrFull) || r.Operations < 50 || r.Operations > 58 {
		t.Errorf("%s, %v, want it to end with 50 operations and those under way", r, err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	l := ledger.New(ledger.Config{Addresses: func() []string { stop(); return nil }, Keys: 1, Patience: 20 * time.Millisecond})
	r, err := l.Run(ctx)
	if err != nil || r.Unanswered == 0 || r.Puts+r.Gets != 0 || r.Lost != 0 {
		t.Errorf("%s, %v, want all given up and nothing lost, for nothing was acknowledged", r, err)
	}
	if err := l.Await(ctx, 1, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("awaiting: %v", err)
	}
}
