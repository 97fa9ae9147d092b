package main

import (
	"strings"
	"testing"
)

func TestHostsAreRead(t *testing.T) {
	f, err := parseHosts([]byte(`keys: ./keys
hosts:
  - {name: host-1, address: 10.0.0.1, runs: [server, coordinator]}
  - {name: host-2, address: "fd00::2", runs: [node]}
  - {name: host-3, address: 10.0.0.3, ssh: "ann@bastion:2222", runs: [node]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"root@10.0.0.1", "root@[fd00::2]", "ann@bastion:2222"} {
		if got := f.Hosts[i].SSH; got != want {
			t.Errorf("root logs in to %s, want %s", got, want)
		}
	}
}

func TestBadHostsAreRefused(t *testing.T) {
	const server = "{name: a, address: 10.0.0.1, runs: [server, coordinator]}"
	for text, want := range map[string]string{
		"":                               "keys is missing",
		"keys: k":                        "hosts has 0 hosts",
		"keys: k\nhost: []":              "line 2: field host not found: the fields are keys and hosts",
		"keys: [k]":                      "line 1: cannot",
		"keys: k\nhosts: [" + server[:9]: "did not find",
		"keys: k\nhosts: [{name: A, address: 10.0.0.1, runs: [node]}]":                        `hosts[0]: name "A" is not a name`,
		"keys: k\nhosts: [{name: a, address: 'a b', runs: [node]}]":                           `hosts[0]: address "a b" of a is neither`,
		"keys: k\nhosts: [{name: a, address: 10.0.0.1, ssh: -oProxyCommand=x, runs: [node]}]": `ssh "-oProxyCommand=x" of a`,
		"keys: k\nhosts: [{name: a, address: 10.0.0.1}]":                                      "runs of a is missing",
		"keys: k\nhosts: [{name: a, address: 10.0.0.1, runs: [proxy]}]":                       `runs of a has "proxy"`,
		"keys: k\nhosts: [{name: a, address: 10.0.0.1, runs: [node, node]}]":                  `runs of a has "node", or has it twice`,
		"keys: k\nhosts: [" + server + ", {name: a, address: 10.0.0.2, runs: [node]}]":        "hosts[1]: a repeats the name",
		"keys: k\nhosts: [" + server + ", {name: b, address: 10.0.0.1, runs: [node]}]":        "hosts[1]: b repeats the name or the address",
		"keys: k\nhosts: [" + server + ", {name: b, address: 10.0.0.2, runs: [server]}]":      "2 of them run a server",
		"keys: k\nhosts: [{name: a, address: 10.0.0.1, runs: [server]}]":                      "none of them runs a coordinator",
		"keys: k\n#" + strings.Repeat("x", maxHostsFile):                                      "the limit is",
	} {
		if _, err := parseHosts([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: the error is %v, want %q", text, err, want)
		}
	}
}
