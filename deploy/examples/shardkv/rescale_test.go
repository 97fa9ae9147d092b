package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/deploy/examples/shardkv/ledger"
)

// TestRescalingUnderLoad takes the service from 3 to 7 to 5 to 2 slots while clients write and read. It also gives up two changes after
// some slots have acquired and served. The ledger of the clients alone decides whether the service keeps its promises.
func TestRescalingUnderLoad(t *testing.T) {
	f := startFleet(t, 3)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	seed := rand.Uint64()
	t.Log("seed", seed)
	l := ledger.New(ledger.Config{
		Addresses: f.present, Keys: 64, Workers: 16, Seed: seed, Patience: 3 * time.Second, Pause: 5 * time.Millisecond,
	})
	done := make(chan ledger.Report, 1)
	go func() {
		report, err := l.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	// answers waits for answers under the latest config version: from then on some slots serve by it. Where some do not yet,
	// all clients may ask for keys of those, until their patience ends and they ask for others.
	answers := func(further int) {
		t.Helper()
		if err := l.Await(ctx, further, f.last); err != nil {
			t.Error(err)
		}
	}

	answers(100)
	f.begin(7)
	f.call(phaseAcquire, 0, 1, 2, 3, 4, 5)
	answers(5)
	f.begin(3) // back, under a higher config version
	f.finish()
	answers(100)
	f.begin(7)
	f.finish()
	answers(100)
	f.begin(2)
	f.call(phaseAcquire, 1)
	answers(5)
	f.begin(5) // of some keys three slots have a copy by now
	f.finish()
	answers(100)
	f.begin(2)
	f.finish()
	answers(100)

	stop()
	report := <-done
	t.Log(report)
	if err := report.Kept(); err != nil {
		t.Error(err)
	}
	if report.Keys < 64 || report.Puts == 0 || report.Gets == 0 {
		t.Errorf("%s, want reads and writes of all keys", report)
	}
}

// want checks the status of an answer and what its body has in it.
func want(t *testing.T, got answer, status int, parts ...string) {
	t.Helper()
	if got.status != status {
		t.Errorf("answered %d %q, want %d", got.status, got.body, status)
	}
	for _, part := range parts {
		if !strings.Contains(got.body, part) {
			t.Errorf("answered %q, want %q in it", got.body, part)
		}
	}
}

// TestWhoAnswersInEachPhase asks for a key that moves from slot 0 to slot 4.
func TestWhoAnswersInEachPhase(t *testing.T) {
	f := startFleet(t, 3)
	want(t, f.key(http.MethodPut, 0, moving(), "a"), http.StatusOK)
	want(t, f.key(http.MethodGet, 1, moving(), ""), http.StatusMisdirectedRequest,
		`"ordinal":0`, f.members[0].address, `"config_version":1`, `"scale":3`)

	f.begin(7)
	want(t, f.key(http.MethodGet, 0, moving(), ""), http.StatusMisdirectedRequest, `"ordinal":4`, f.members[4].address, `"config_version":2`)
	got := f.key(http.MethodGet, 4, moving(), "")
	want(t, got, http.StatusServiceUnavailable)
	if got.header.Get("Retry-After") == "" {
		t.Error("the answer has no Retry-After")
	}
	want(t, f.key(http.MethodPut, 0, staying(), "b"), http.StatusOK)
	want(t, f.ask(http.MethodGet, f.members[0].address, "/owner/"+moving(), ""), http.StatusOK, `"ordinal":4`, f.members[4].address)

	f.call(phaseAcquire, 4)
	got = f.key(http.MethodGet, 4, moving(), "")
	want(t, got, http.StatusOK, "a")
	for name, want := range map[string]string{"X-Version": "1", "X-Config-Version": "2", "X-Ordinal": "4"} {
		if got := got.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	want(t, f.key(http.MethodDelete, 4, moving(), ""), http.StatusOK)
	got = f.key(http.MethodGet, 4, moving(), "")
	want(t, got, http.StatusNotFound)
	if got.header.Get("X-Ordinal") != "4" {
		t.Error("the owner does not say who it is")
	}
}

// TestAReceiverDies restarts slot 4, which loses its keys, after it has acquired: the slot that released them has kept a copy.
func TestAReceiverDies(t *testing.T) {
	f := startFleet(t, 3)
	want(t, f.key(http.MethodPut, 0, moving(), "a"), http.StatusOK)
	f.begin(7)
	f.call(phaseAcquire, f.ordinals()...)
	f.stop(4)
	f.start(4)
	want(t, f.key(http.MethodGet, 4, moving(), ""), http.StatusServiceUnavailable)
	f.call(phaseAcquire, 4)
	want(t, f.key(http.MethodGet, 4, moving(), ""), http.StatusOK, "a")
}

// TestAnInstanceThatMissedTheEnd skips the acquire hook of one instance. Once the change is in force, that instance acquires its keys by
// itself.
func TestAnInstanceThatMissedTheEnd(t *testing.T) {
	f := startFleet(t, 3)
	want(t, f.key(http.MethodPut, 0, moving(), "a"), http.StatusOK)
	f.begin(7)
	f.call(phaseAcquire, 0, 1, 2, 3, 5, 6)
	f.inForce, f.change = f.change.shape, nil
	f.publish()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for f.key(http.MethodGet, 4, moving(), "").status != http.StatusOK {
		if ctx.Err() != nil {
			t.Fatal("it never does")
		}
	}
}

// TestHooksThatCannotBeAnswered calls hooks whose work the instance cannot confirm.
func TestHooksThatCannotBeAnswered(t *testing.T) {
	f := startFleet(t, 3)
	hook := func(ordinal uint32, phase string, status int, part string) {
		t.Helper()
		want(t, f.ask(http.MethodPost, f.members[ordinal].address, "/hooks/"+phase, ""), status, part)
	}
	hook(0, phaseRelease, http.StatusConflict, "no change")
	hook(0, phaseAcquire, http.StatusConflict, "no change")

	f.grow(7)
	f.last++
	f.change = &change{shape: shape{ConfigVersion: f.last, Scale: 7}}
	f.enter(phaseRelease)
	hook(4, phaseAcquire, http.StatusConflict, "may be acquired")

	// One whose export cannot be had may be the only one who has a key.
	f.call(phaseRelease, f.ordinals()...)
	f.enter(phaseAcquire)
	f.members[2].stop()
	hook(4, phaseAcquire, http.StatusServiceUnavailable, "slot 2")
	want(t, f.key(http.MethodGet, 4, moving(), ""), http.StatusServiceUnavailable)
	f.start(2)
	f.call(phaseAcquire, 4)
}

// TestAPeerThatHasNotReleased is asked for its export. It releases where its file says so by then, and refuses before.
func TestAPeerThatHasNotReleased(t *testing.T) {
	f := startFleet(t, 3)
	want(t, f.key(http.MethodPut, 0, moving(), "a"), http.StatusOK)
	export := fmt.Sprintf("/export?config_version=%d&scale=7&ordinal=4", f.last+1)
	want(t, f.ask(http.MethodGet, f.members[0].address, export, ""), http.StatusConflict)
	want(t, f.key(http.MethodGet, 0, moving(), ""), http.StatusOK)

	f.last++
	f.change = &change{shape: shape{ConfigVersion: f.last, Scale: 7}}
	f.enter(phaseRelease)
	want(t, f.ask(http.MethodGet, f.members[0].address, export, ""), http.StatusOK, `"key":"`+moving(), `"total":1`)
	want(t, f.key(http.MethodGet, 0, moving(), ""), http.StatusMisdirectedRequest)
}
