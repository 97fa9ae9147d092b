package main

import (
	"strings"
	"testing"
)

// TestDevListensOnThisMachineAlone tries addresses that other hosts may reach, and ones that they may not.
func TestDevListensOnThisMachineAlone(t *testing.T) {
	const beyond = "may be reached from other hosts"
	for listen, want := range map[string]string{
		"127.0.0.1:0": "", "localhost:0": "", "[::1]:0": "", "127.9.9.9:0": "",
		":0": beyond, "0.0.0.0:0": beyond, "[::]:0": beyond, "10.0.0.1:0": beyond, "host.example:0": beyond,
		"127.0.0.1": "is not an address", "127.0.0.1:x": "is not a port",
	} {
		_, _, err := (&dev{listen: listen}).address()
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("--listen %s: %v, want %s", listen, err, want)
		}
	}
}
