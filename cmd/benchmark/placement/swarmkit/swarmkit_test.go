package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

// small is a mix cut down to a size that a test can afford: a hundred nodes,
// so that every rack has one with and one without an SSD.
func small(t *testing.T, name string) shape {
	t.Helper()
	s, err := findShape(name)
	if err != nil {
		t.Fatal(err)
	}
	services := 0
	if s.resources {
		services = 20
	}
	if err := s.override(100, services, 50); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryMixPlacesAll(t *testing.T) {
	for _, name := range mixNames() {
		for _, oneByOne := range []bool{false, true} {
			s := small(t, name)
			s.oneByOne = oneByOne
			var out bytes.Buffer
			if err := run(options{shape: s, deadline: time.Minute}, &out); err != nil {
				t.Errorf("%s, one by one %v: %v", name, oneByOne, err)
				continue
			}
			var got report
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%s: not one line: %q", name, out.String())
			}
			if got.Placed != s.total() || got.Refusals != 0 || got.WallSeconds <= 0 || got.CPUSeconds <= 0 || got.LiveHeapBytes <= 0 {
				t.Errorf("%s, one by one %v: odd figures: %s", name, oneByOne, out.String())
			}
			if s.lastOnly && (got.NodeMin != 0 || got.NodeMax != s.total()) {
				t.Errorf("%s: not all on one node: %s", name, out.String())
			}
			if s.spreadRacks && (*got.RackMin != s.total()/rackCount || *got.RackMax != *got.RackMin) {
				t.Errorf("%s: racks are uneven: %s", name, out.String())
			}
		}
	}
}

func TestFullSizeLeavesHeadroom(t *testing.T) {
	for _, each := range shapes {
		if err := each.checkPlan(); err != nil {
			t.Errorf("%s: %v", each.name, err)
		}
	}
}

func TestTooFewNodesAreRefused(t *testing.T) {
	s, _ := findShape("w2")
	s.nodes = 2000
	if err := s.checkPlan(); err == nil || !strings.Contains(err.Error(), "more nodes") {
		t.Errorf("got %v", err)
	}
}

func TestDeadlinePrintsLineAndFails(t *testing.T) {
	s := small(t, "w1")
	// A limit that 50 instances on one node cannot meet: nothing but the
	// deadline ends the wait then.
	s.spreadRacks, s.nodes, s.instances, s.services = true, 40, 50, 1
	var out bytes.Buffer
	result, err := runRound(s, time.Second)
	if err == nil || !strings.Contains(err.Error(), "only 40 of 50") {
		t.Fatalf("got %v", err)
	}
	if err := json.NewEncoder(&out).Encode(result); err != nil || result.Placed != 40 || result.Refusals < 10 {
		t.Errorf("odd figures: %s", out.String())
	}
}

func TestCommandLine(t *testing.T) {
	for _, each := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"-mix", "w9"}, "no mix"},
		{[]string{"-nodes", "-1"}, "out of range"},
		{[]string{"-services", "2000", "-instances", "2000"}, "more than"},
		{[]string{"-deadline", "0s"}, "above 0"},
		{[]string{"w1"}, "argument too many"},
	} {
		_, err := parseOptions(each.arguments, new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), each.want) {
			t.Errorf("%v: got %v", each.arguments, err)
		}
	}
	var usage bytes.Buffer
	if _, err := parseOptions([]string{"-help"}, &usage); !errors.Is(err, flag.ErrHelp) || !strings.Contains(usage.String(), "Example") {
		t.Errorf("got %v and %q", err, usage.String())
	}
}
