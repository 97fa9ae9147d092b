package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rookery-project/rookery/cmd/rookery/install"
	"github.com/rookery-project/rookery/events"
)

// hostsFile says which hosts a cluster has, and what each runs.
type hostsFile struct {
	// Keys is the folder of the cluster's keys. It is made if it is not there.
	Keys  string        `yaml:"keys"`
	Hosts []clusterHost `yaml:"hosts"`
}

// clusterHost is one of them.
type clusterHost struct {
	// Name is that of its node and of its server.
	Name string `yaml:"name"`
	// Address is where the other hosts reach it, and clients the ports of instances.
	Address string `yaml:"address"`
	// SSH is where root logs in, as in root@host-1:22; root at the address if it is empty.
	SSH string `yaml:"ssh"`
	// Runs are parts of a cluster.
	Runs []string `yaml:"runs"`
}

func (h clusterHost) runs(part string) bool { return slices.Contains(h.Runs, part) }

// ofGo matches the type of Go that the library adds to the name of a field that it does not know.
var ofGo = regexp.MustCompile(` in type main\.\w+`)

const (
	maxHosts     = 1000
	maxHostsFile = 256 << 10
)

// parseHosts reads a file of hosts. The error names the field, and the line where it can.
func parseHosts(text []byte) (f hostsFile, err error) {
	if len(text) > maxHostsFile {
		return f, fmt.Errorf("the file has %d bytes; the limit is %d", len(text), maxHostsFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("%s: the fields are keys and hosts, and of each host name, address, ssh and runs", ofGo.ReplaceAllString(err.Error(), ""))
	}
	if f.Keys == "" {
		return f, errors.New("keys is missing: name the folder of the cluster's keys, as in keys: ./keys")
	}
	if len(f.Hosts) == 0 || len(f.Hosts) > maxHosts {
		return f, fmt.Errorf("hosts has %d hosts, want 1 to %d", len(f.Hosts), maxHosts)
	}
	for i := range f.Hosts {
		if err := f.Hosts[i].check(f.Hosts[:i]); err != nil {
			return f, fmt.Errorf("hosts[%d]: %w", i, err)
		}
	}
	const replicated = 3
	if n := len(f.that(install.ServerPart)); n != 1 && n != replicated {
		return f, fmt.Errorf("hosts: %d of them run a server: a cluster has one or three", n)
	}
	if len(f.that(install.CoordinatorPart)) == 0 {
		return f, errors.New("hosts: none of them runs a coordinator")
	}
	return f, nil
}

// that returns the hosts that run a part.
func (f hostsFile) that(part string) []clusterHost {
	return slices.DeleteFunc(slices.Clone(f.Hosts), func(h clusterHost) bool { return !h.runs(part) })
}

// check returns an error if the host cannot stand behind those before it in a file, and fills in where root logs in.
func (h *clusterHost) check(before []clusterHost) error {
	switch {
	case !events.ValidName(h.Name):
		return fmt.Errorf("name %q is not a name: want 1 to %d of a-z, 0-9 and \"-\"", h.Name, events.MaxName)
	case !validAddress(h.Address):
		return fmt.Errorf("address %q of %s is neither an IP address nor a host name", h.Address, h.Name)
	case slices.ContainsFunc(before, func(other clusterHost) bool { return other.Name == h.Name || other.Address == h.Address }):
		return fmt.Errorf("%s repeats the name or the address of another host", h.Name)
	case strings.ContainsAny(h.SSH, " \t\n") || strings.HasPrefix(h.SSH, "-"):
		return fmt.Errorf("ssh %q of %s is not a place to log in to: want it as in root@host-1:22", h.SSH, h.Name)
	case len(h.Runs) == 0:
		return fmt.Errorf("runs of %s is missing: want some of %s", h.Name, strings.Join(install.Parts, ", "))
	}
	for i, part := range h.Runs {
		if !slices.Contains(install.Parts, part) || slices.Contains(h.Runs[:i], part) {
			return fmt.Errorf("runs of %s has %q, or has it twice: want some of %s", h.Name, part, strings.Join(install.Parts, ", "))
		}
	}
	if h.SSH == "" {
		h.SSH = "root@" + h.Address
		if strings.Contains(h.Address, ":") {
			h.SSH = "root@[" + h.Address + "]"
		}
	}
	return nil
}
