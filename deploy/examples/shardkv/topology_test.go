package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestATopologyFile(t *testing.T) {
	got, err := parseTopology([]byte(`{"namespace":"demo","name":"kv","ordinal":2,"generation":1,"config_version":4,"scale":3,
		"peers":[{"ordinal":0,"host":"10.0.0.1","ports":{"http":20000}},{"ordinal":6,"host":"fd00::1","ports":{"http":20001,"raft":1}},
			{"ordinal":1,"host":"10.0.0.2","ports":{"raft":1}}],
		"change":{"operation":123,"attempt":1,"phase":"release","config_version":5,"scale":7}}`))
	want := topology{
		shape: shape{ConfigVersion: 4, Scale: 3}, Ordinal: 2,
		Peers: []peer{
			{0, "10.0.0.1", map[string]uint16{"http": 20000}},
			{6, "fd00::1", map[string]uint16{"http": 20001, "raft": 1}},
			{1, "10.0.0.2", map[string]uint16{"raft": 1}},
		},
		Change: &change{shape: shape{ConfigVersion: 5, Scale: 7}, Phase: phaseRelease},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for ordinal, want := range map[uint32]string{0: "10.0.0.1:20000", 6: "[fd00::1]:20001", 1: "", 5: ""} {
		if got := got.address(ordinal); got != want {
			t.Errorf("slot %d answers at %q, want %q", ordinal, got, want)
		}
	}
	if got.target() != (shape{ConfigVersion: 5, Scale: 7}) {
		t.Errorf("it goes to %+v", got.target())
	}
	got.Change = nil
	if got.target() != (shape{ConfigVersion: 4, Scale: 3}) {
		t.Errorf("it has come to %+v", got.target())
	}
}

func TestBadTopologyFiles(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              ``,
		"a torn file":          `{"ordinal":2,"config_ver`,
		"a negative scale":     `{"scale":-1}`,
		"a change back":        `{"config_version":4,"scale":3,"change":{"config_version":4,"scale":7,"phase":"release"}}`,
		"a port out of range":  `{"peers":[{"ports":{"http":65536}}]}`,
		"more peers than fit":  fmt.Sprintf(`{"peers":[{}%s]}`, strings.Repeat(",{}", maxPeers)),
		"more bytes than fit":  `{}` + strings.Repeat(" ", maxFile),
		"an ordinal too large": `{"ordinal":4294967296}`,
	} {
		if got, err := parseTopology([]byte(text)); err == nil {
			t.Errorf("%s is taken for %+v", name, got)
		}
	}
	if _, err := readTopology(t.TempDir()); err == nil {
		t.Error("a folder is taken for a topology file")
	}
}
