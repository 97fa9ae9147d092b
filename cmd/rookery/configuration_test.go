package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAFileSetsFlags gives commands a file, flags and variables, and asks what their flags are then.
func TestAFileSetsFlags(t *testing.T) {
	for name, tt := range map[string]struct {
		command, body string
		args          []string
		server        string // NATS_URL
		want          map[string]string
		wrong         string
	}{
		"nothing":                {"node", "# all as it is\n", nil, "", map[string]string{"zone": "", "server": ""}, ""},
		"values":                 {"node", "name: edge-3\nzone: attic\nheartbeat: 5s\nallow-host-network: true\nreserve-memory: 1GiB\n", nil, "", map[string]string{"name": "edge-3", "zone": "attic", "heartbeat": "5s", "allow-host-network": "true", "reserve-memory": "1GiB"}, ""},
		"lists and names":        {"node", "label: {disk: ssd}\nallow-host-path: [/srv, /data]\n", nil, "", map[string]string{"label": "[disk=ssd]", "allow-host-path": "[/srv,/data]"}, ""},
		"a flag goes before":     {"node", "zone: attic\nname: edge-3\n", []string{"--zone", "barn"}, "", map[string]string{"zone": "barn", "name": "edge-3"}, ""},
		"a variable goes before": {"coordinator", "server: nats://10.0.0.1:4222\n", nil, "nats://10.0.0.2:4222", map[string]string{"server": "nats://10.0.0.2:4222"}, ""},
		"the link is one":        {"coordinator", "server: nats://10.0.0.1:4222\ncreds: rookery.creds\n", []string{"--context", "production"}, "", map[string]string{"server": "", "creds": "", "context": "production"}, ""},
		"names for a list":       {"node", "allow-host-path: {/srv: x}\n", nil, "", nil, "line 1: allow-host-path: want values without names"},
		"the time zone":          {"node", "utc: true\n", nil, "", nil, `line 1: unknown flag "utc"`},
		"no variable":            {"coordinator", "server: nats://10.0.0.1:4222\nname: c1\n", nil, "", map[string]string{"server": "nats://10.0.0.1:4222", "name": "c1"}, ""},
		"an unknown name":        {"coordinator", "name: c1\ntitle: c2\n", nil, "", nil, `line 2: unknown flag "title"`},
		"itself":                 {"coordinator", "config: other.yaml\n", nil, "", nil, `line 1: unknown flag "config"`},
		"a wrong value":          {"node", "\nheartbeat: soon\n", nil, "", nil, `line 2: invalid argument "soon" for "--heartbeat" flag`},
		"a list for one":         {"node", "zone: [attic, barn]\n", nil, "", nil, "line 1: zone: want one value, not a list"},
		"no value":               {"node", "zone:\n", nil, "", nil, "line 1: zone: want a value"},
		"a name twice":           {"node", "zone: attic\nzone: barn\n", nil, "", nil, "line 2: zone is repeated"},
		"deeper":                 {"node", "label: {disk: {kind: ssd}}\n", nil, "", nil, "line 1: label: want a value"},
		"an alias":               {"node", "name: &a edge-3\nzone: *a\n", nil, "", nil, "line 2: zone: want a value"},
		"a list":                 {"node", "- zone\n", nil, "", nil, "want YAML with names of flags and values"},
		"no YAML":                {"node", "zone: [attic\n", nil, "", nil, "want YAML with names of flags and values"},
		"too long":               {"node", strings.Repeat("#", maxConfiguration+1), nil, "", nil, "the file has 65537 bytes; the limit is 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			withoutVariables(t)
			t.Setenv("NATS_URL", tt.server)
			file := filepath.Join(t.TempDir(), "rookery.yaml")
			if err := os.WriteFile(file, []byte(tt.body), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd, _, err := root(&link{}).Find([]string{tt.command})
			if err == nil {
				err = cmd.ParseFlags(append(tt.args, "--config", file))
			}
			if err != nil {
				t.Fatal(err)
			}
			err = cmd.PreRunE(cmd, nil)
			if (err == nil) != (tt.wrong == "") || (err != nil && !strings.Contains(err.Error(), file+": "+tt.wrong)) {
				t.Fatalf("%v, want %q", err, tt.wrong)
			}
			for flag, want := range tt.want {
				if got := cmd.Flags().Lookup(flag).Value.String(); got != want {
					t.Errorf("--%s is %q, want %q", flag, got, want)
				}
			}
		})
	}
}

// TestThePackagedConfigurationsSetFlags takes the comment signs off the settings of the files in the packages.
func TestThePackagedConfigurationsSetFlags(t *testing.T) {
	withoutVariables(t)
	for _, command := range []string{"coordinator", "node"} {
		body, err := os.ReadFile(filepath.Join("../../deploy/package", command+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		cmd, _, err := root(&link{}).Find([]string{command})
		if err == nil {
			err = cmd.ParseFlags(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		settings := regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAll(body, []byte("$1"))
		if err := configure(cmd.Flags(), settings); err != nil {
			t.Errorf("%s.yaml: %v", command, err)
		}
		if got := cmd.Flags().Lookup("metrics").Value.String(); got != "127.0.0.1:9464" {
			t.Errorf("%s.yaml sets --metrics to %q", command, got)
		}
	}
}
