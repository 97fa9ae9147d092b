package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
)

// Limits of a topology file.
const (
	maxFile  = 1 << 20
	maxPeers = 1024
)

// The phases of a change that have a hook.
const (
	phaseRelease = "release"
	phaseAcquire = "acquire"
)

// portName is the port of the service's spec on which the instances talk to each other and to clients.
const portName = "http"

// shape is what decides who owns a key: two topologies of one shape give each slot the same keys.
type shape struct {
	ConfigVersion uint64 `json:"config_version"`
	Scale         uint32 `json:"scale"`
}

// topology is the file that the orchestrator writes. Its own shape is the one in force; slots at or above its scale come or go.
type topology struct {
	shape
	Ordinal uint32  `json:"ordinal"`
	Peers   []peer  `json:"peers"`
	Change  *change `json:"change"`
}

// peer is a slot that has an instance now.
type peer struct {
	Ordinal uint32            `json:"ordinal"`
	Host    string            `json:"host"`
	Ports   map[string]uint16 `json:"ports"`
}

// change is a change of the topology that is under way, with the shape that it leads to.
type change struct {
	shape
	Phase string `json:"phase"`
}

// readTopology reads the file, which is replaced by another and never written to.
func readTopology(path string) (topology, error) {
	file, err := os.Open(path)
	if err != nil {
		return topology{}, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return topology{}, err
	}
	t, err := parseTopology(text)
	if err != nil {
		return topology{}, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// parseTopology reads the text of a topology file. Fields that it does not know are left to those who do.
func parseTopology(text []byte) (topology, error) {
	if len(text) > maxFile {
		return topology{}, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	var t topology
	if err := json.Unmarshal(text, &t); err != nil {
		return topology{}, err
	}
	switch {
	case len(t.Peers) > maxPeers:
		return topology{}, fmt.Errorf("peers: more than %d", maxPeers)
	case t.Change != nil && t.Change.ConfigVersion <= t.ConfigVersion:
		return topology{}, fmt.Errorf("change.config_version: %d is not above %d, which is in force", t.Change.ConfigVersion, t.ConfigVersion)
	}
	return t, nil
}

// target returns the shape that the service goes to, or has come to.
func (t topology) target() shape {
	if t.Change != nil {
		return t.Change.shape
	}
	return t.shape
}

// address returns where the slot answers, or "" where the file does not say.
func (t topology) address(ordinal uint32) string {
	for _, p := range t.Peers {
		if port := p.Ports[portName]; p.Ordinal == ordinal && port > 0 {
			return net.JoinHostPort(p.Host, strconv.Itoa(int(port)))
		}
	}
	return ""
}
