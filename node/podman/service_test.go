package podman_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// fakeService serves answers by path and returns the address. For what no Podman can be made to do at will.
func fakeService(t *testing.T, answers map[string]string) string {
	t.Helper()
	return serveFake(t, func(w http.ResponseWriter, r *http.Request) {
		for end, answer := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				if _, err := io.WriteString(w, answer); err != nil {
					t.Error(err)
				}
				return
			}
		}
		if !strings.HasSuffix(r.URL.Path, "/_ping") {
			http.Error(w, "no such path", http.StatusInternalServerError)
		}
	})
}

func serveFake(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Libpod-API-Version", "4.3.1")
		answer(w, r)
	}))
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return "unix://" + path
}

func TestWatchFailsWhenTheStreamEnds(t *testing.T) {
	engine := connect(t, fakeService(t, map[string]string{"/events": "", "/containers/json": "[]"}))
	ready := false
	err := engine.Watch(t.Context(), owner, func() { ready = true }, func(events.InstanceID) {})
	if !errors.Is(err, io.EOF) || !ready {
		t.Errorf("Watch gave %v (ready: %t), want that the stream ended", err, ready)
	}
}

func TestWatchFailsWhereListFails(t *testing.T) {
	engine := connect(t, fakeService(t, map[string]string{"/events": ""}))
	err := engine.Watch(t.Context(), owner, func() { t.Error("ready") }, func(events.InstanceID) {})
	if err == nil || !strings.Contains(err.Error(), "no such path") {
		t.Errorf("Watch gave %v, want Podman's words", err)
	}
}

func TestAnswersThatAreNoneFail(t *testing.T) {
	engine := connect(t, fakeService(t, map[string]string{"json": "{", "/info": "<html>", "/images/pull": `{"stream":"x"}`}))
	if _, err := engine.Facts(t.Context()); err == nil {
		t.Error("Facts took HTML for an answer")
	}
	if _, err := engine.List(t.Context(), owner); err == nil {
		t.Error("List took half an answer for one")
	}
	if _, err := engine.Inspect(t.Context(), owner, events.InstanceID{}); err == nil {
		t.Error("Inspect took half an answer for one")
	}
	if err := engine.Load(t.Context(), strings.NewReader("")); err == nil {
		t.Error("Load took an error for an answer")
	}
	_, err := engine.Prepare(t.Context(), node.Plan{Owner: owner})
	wantFailure(t, err, events.OfflineCreateFailed, "no spec")
}
