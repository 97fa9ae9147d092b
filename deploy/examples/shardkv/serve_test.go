package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestKeysAndValues(t *testing.T) {
	f := startFleet(t, 1)
	long, large := strings.Repeat("k", maxKey), strings.Repeat("v", maxValue)
	for _, c := range []struct {
		method, key, body string
		status            int
		part              string
	}{
		{http.MethodGet, "a", "", http.StatusNotFound, "no such key"},
		{http.MethodPut, "a", "1", http.StatusOK, "1"},
		{http.MethodGet, "a", "", http.StatusOK, "1"},
		{http.MethodPut, "a", "", http.StatusOK, ""},
		{http.MethodDelete, "a", "", http.StatusOK, ""},
		{http.MethodDelete, "a", "", http.StatusNotFound, ""},
		{http.MethodPut, "a/b?c=d #e", "odd", http.StatusOK, ""},
		{http.MethodGet, "a/b?c=d #e", "", http.StatusOK, "odd"},
		{http.MethodPut, long, large, http.StatusOK, ""},
		{http.MethodGet, long, "", http.StatusOK, large},
		{http.MethodPut, long + "k", "1", http.StatusBadRequest, "256 bytes"},
		{http.MethodPut, "a", large + "v", http.StatusRequestEntityTooLarge, "64 KiB"},
		{http.MethodPut, "\xff", "1", http.StatusBadRequest, "UTF-8"},
		{http.MethodPost, "a", "1", http.StatusMethodNotAllowed, ""},
	} {
		t.Log(c.method, fmt.Sprintf("%.40q", c.key))
		want(t, f.key(c.method, 0, c.key, c.body), c.status, c.part)
	}
	address := f.members[0].address
	want(t, f.ask(http.MethodGet, address, "/health", ""), http.StatusOK)
	for _, query := range []string{"", "?config_version=1&scale=1", "?config_version=1&scale=-1&ordinal=0", "?config_version=x&scale=1&ordinal=0"} {
		want(t, f.ask(http.MethodGet, address, "/export"+query, ""), http.StatusBadRequest)
	}
}

// TestTheLargestEntryIsExported moves a key and a value that are as large as they may be, in every encoding.
func TestTheLargestEntryIsExported(t *testing.T) {
	f := startFleet(t, 1)
	key := ""
	for n := 0; key == "" || owner(key, 2) != 1; n++ {
		key = fmt.Sprint(n)
		key += strings.Repeat("\x01", maxKey-len(key))
	}
	value := strings.Repeat("\x00", maxValue)
	want(t, f.key(http.MethodPut, 0, key, value), http.StatusOK)
	f.begin(2)
	f.finish()
	if got := f.key(http.MethodGet, 1, key, ""); got.status != http.StatusOK || len(got.body) != maxValue {
		t.Errorf("after it has moved the key is answered with %d, %d bytes", got.status, len(got.body))
	}
}

// TestExportsThatCannotBeTrusted makes a peer answer with invalid exports: the instance takes nothing from them.
func TestExportsThatCannotBeTrusted(t *testing.T) {
	line := func(key string, version int) string { return fmt.Sprintf(`{"key":%q,"version":%d}`+"\n", key, version) }
	for name, text := range map[string]string{
		"nothing":                     "",
		"a torn end":                  line(moving(), 1),
		"a line too few":              line(moving(), 1) + `{"total":2}` + "\n",
		"a torn line":                 line(moving(), 1) + `{"total"`,
		"a key of another slot":       line(staying(), 1) + `{"total":1}` + "\n",
		"a key without a name":        line("", 1) + `{"total":1}` + "\n",
		"a line that is far too long": `{"key":"` + strings.Repeat("x", maxLine) + `"}` + "\n",
	} {
		i := receiver(t, text)
		answer := httptest.NewRecorder()
		i.handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/acquire", nil))
		if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "slot 0") {
			t.Errorf("%s: answered %d %s", name, answer.Code, answer.Body)
		}
		if acquired, _ := i.keys.shapes(); acquired != three || len(i.keys.entries) > 0 {
			t.Errorf("%s: it serves by %+v, with %v", name, acquired, i.keys.entries)
		}
	}
}

// receiver returns slot 4 in the middle of the change from three to seven, with peers that have these exports.
func receiver(t *testing.T, exports ...string) *instance {
	t.Helper()
	during := topology{shape: three, Ordinal: 4, Change: &change{shape: seven, Phase: phaseAcquire}}
	for ordinal, text := range exports {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		t.Cleanup(server.Close)
		during.Peers = append(during.Peers, peerAt(t, uint32(ordinal), strings.TrimPrefix(server.URL, "http://")))
	}
	file, err := json.Marshal(during)
	must(t, err)
	path := filepath.Join(t.TempDir(), "topology.json")
	must(t, os.WriteFile(path, file, 0o600))
	i, err := newInstance(path, slog.New(slog.DiscardHandler))
	must(t, err)
	return i
}

// TestTheNewestCopyIsTaken has three slots hold a copy of one key, as changes were given up.
func TestTheNewestCopyIsTaken(t *testing.T) {
	copies := make([]string, 3)
	for n := range copies {
		copies[n] = fmt.Sprintf(`{"key":%q,"version":%d}`+"\n"+`{"total":1}`+"\n", moving(), []int{2, 3, 1}[n])
	}
	for turn := range copies {
		i := receiver(t, append(slices.Clone(copies[turn:]), copies[:turn]...)...)
		during, err := i.look()
		must(t, err)
		must(t, i.acquire(t.Context(), during))
		if e, _, err := i.keys.get(moving()); err != nil || e.Version != 3 {
			t.Errorf("of the versions 1 to 3 it has taken %d: %v", e.Version, err)
		}
	}
}

func TestTheTopologyIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "topology.json")
	found := make(chan *instance, 1)
	go func() {
		i, err := await(t.Context(), path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Error(err)
		}
		found <- i
	}()
	must(t, os.WriteFile(path+".new", []byte(`{"ordinal":1,"config_version":4,"scale":3}`), 0o600))
	must(t, os.Rename(path+".new", path))
	if i := <-found; i == nil || i.keys.ordinal != 1 {
		t.Errorf("found %+v", i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := await(ctx, path+".none", slog.New(slog.DiscardHandler)); err == nil {
		t.Error("await of a file that never appears returns no error")
	}
}
