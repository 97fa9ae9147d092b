package events

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// ensure parses a command with these fields beside the image.
func ensure(fields string) (ServiceEnsure, error) {
	var c ServiceEnsure
	if err := decodeStrict([]byte(`{"image":"i",`+fields+`}`), &c); err != nil {
		return c, err
	}
	return c, c.check()
}

func TestFieldsThatKeepTheRules(t *testing.T) {
	for _, fields := range []string{
		`"user":"web"`, `"user":"1000:1000"`, `"working_dir":"/"`, `"capabilities":["net_raw","CAP_CHOWN","KILL"]`,
		`"read_only_root":false`, `"ulimits":[{"name":"nofile","value":0}]`, `"shm_size":"0B"`, `"shm_size":"2GiB"`,
		`"network":"bridge","ports":[{"name":"http","port":80}]`, `"network":"host"`, `"hostname":"Web-1.example"`,
		`"extra_hosts":[{"name":"db","address":"fd00::7"}]`, `"sysctls":{"kernel.msgmax":"9","fs.mqueue.msg_max":"9"}`,
		`"volumes":[{"name":"a","path":"/a"},{"name":"b","path":"/b","kind":"host","source":"/","read_only":true}]`,
		`"volumes":[{"name":"a","path":"/a","kind":"tmpfs","size":"1MiB"}]`, `"pull":"always"`, `"pull":"never"`,
		`"health":{"exec":["/check"],"interval":"1s","timeout":"100ms","retries":1,"start_period":"1m"}`,
		`"health":{"http":{"port":"http","path":"/a?b=%20"}},"ports":[{"name":"http","port":80}]`,
		`"health":{"tcp":{"port":"http"}},"ports":[{"name":"http","port":80,"protocol":"tcp"}]`,
		`"restart":{}`, `"restart":{"policy":"on-failure","delay":"2m","attempts":3,"window":"1h"}`,
		`"sidecars":[{"name":"a","image":"j"},{"name":"b","image":"j","command":["a"],"args":["b"],"env":{"A":"1"}}]`,
		`"scratch":{}`, `"scratch":{"path":"/tmp","size":"0B"}`, `"resources":{"disk":"0B"}`, `"resources":{"disk":"10GiB"},"requests":{"disk":"1GiB"}`,
		`"devices":[{"path":"/dev/fuse"},{"path":"/dev/net/tun","target":"/dev/tun","access":"rwm"}]`,
		`"secrets":[{"name":"db"},{"name":"db","env":"DB"},{"name":"key","path":"/etc/key","mode":"0400"}]`,
		`"configs":[{"name":"web-conf"},{"name":"b","path":"/etc//b.conf","mode":"0640"},{"name":"b","path":"/etc/copy"}]`,
		`"configs":[{"name":"a","path":"/data/a"}],"volumes":[{"name":"data","path":"/data"}],"secrets":[{"name":"a"}]`,
		`"mode":"job"`, `"mode":"job","job":{}`, `"mode":"job","job":{"completions":10000,"parallelism":20,"backoff_limit":0}`,
		`"mode":"job","job":{"schedule":"*/5 0-6,22 1 jan-jun MON","time_zone":"America/New_York","overlap":"replace"}`,
		`"mode":"job","job":{"schedule":"@daily"}`, `"mode":"job","job":{"schedule":"0 0 29 2 *"}`,
		`"mode":"job","restart":{"policy":"never","delay":"10s","max_delay":"6m"}`,
		`"topology":{}`, `"topology":{"path":"/etc//topology","on_failure":"retry"},"hooks":{}`,
		`"topology":{},"hooks":{"release":{"signal":"SIGRTMIN+1"},"acquire":{"exec":["/a","b"]}}`,
		`"topology":{},"hooks":{"acquire":{"http":{"port":"http"}}},"ports":[{"name":"http","port":80}]`,
		`"hooks":{"before_stop":{"signal":"SIGUSR1"}}`, `"hooks":{"snapshot":{"signal":"SIGHUP"},"before_stop":{"signal":"SIGUSR1"}}`,
		`"mode":"global","hooks":{"before_stop":{"exec":["/a","b"]}}`,
		`"mode":"job","hooks":{"before_stop":{"http":{"port":"http","path":"/a"}}},"ports":[{"name":"http","port":80}]`,
		`"init":{}`, `"init":{"image":"j","command":["a"],"args":["b"],"env":{"A":"1"}}`,
	} {
		if _, err := ensure(fields); err != nil {
			t.Errorf("%s: %v", fields, err)
		}
	}
}

// brokenFields are fields that break a rule, and how they are refused.
var brokenFields = []struct {
	fields string
	code   Code
	field  string
	says   string
}{
	{`"user":"a b"`, CodeInvalidValue, "user", `"a b"`},
	{`"working_dir":"srv"`, CodeInvalidValue, "working_dir", "absolute"},
	{`"capabilities":["ALL"]`, CodeInvalidValue, "capabilities[0]", "one each"},
	{`"capabilities":["NET RAW"]`, CodeInvalidValue, "capabilities[0]", "NET RAW"},
	{`"capabilities":[""]`, CodeInvalidValue, "capabilities[0]", "not a capability"},
	{`"ulimits":[{"name":"files","value":1}]`, CodeInvalidValue, "ulimits[0].name", "nofile"},
	{`"ulimits":[{"name":"core"}]`, CodeMissingField, "ulimits[0].value", "missing"},
	{`"ulimits":[{"name":"core","value":1},{"name":"core","value":2}]`, CodeInvalidValue, "ulimits[1].name", "ulimits[0]"},
	{`"ulimits":[{"name":"core","value":-1}]`, CodeOutOfRange, "ulimits[0].value", "negative"},
	{`"shm_size":"64"`, CodeInvalidValue, "shm_size", "64MiB"},
	{`"shm_size":64`, CodeWrongType, "shm_size", "a string"},
	{`"shm_size":"99999999TiB"`, CodeInvalidValue, "shm_size", "size"},
	{`"shm_size":"-1MiB"`, CodeInvalidValue, "shm_size", "size"},
	{`"network":"mesh"`, CodeInvalidValue, "network", "bridge, none, host"},
	{`"network":"none","ports":[{"name":"http","port":80}]`, CodeInvalidValue, "network", "leave out"},
	{`"hostname":"a_b"`, CodeInvalidName, "hostname", "a_b"},
	{`"extra_hosts":[{"name":"a b","address":"10.0.0.1"}]`, CodeInvalidName, "extra_hosts[0].name", "a b"},
	{`"extra_hosts":[{"name":"db","address":"db2"}]`, CodeInvalidValue, "extra_hosts[0].address", "10.0.0.7"},
	{`"sysctls":{"vm.swappiness":"1"}`, CodeInvalidName, "sysctls.vm.swappiness", "the host's own"},
	{`"network":"host","sysctls":{"net.core.somaxconn":"1"}`, CodeInvalidValue, "sysctls.net.core.somaxconn", "host"},
	{`"volumes":[{"name":"a"}]`, CodeInvalidValue, "volumes[0].path", "absolute"},
	{`"volumes":[{"name":"A","path":"/a"}]`, CodeInvalidName, "volumes[0].name", "A"},
	{`"volumes":[{"name":"a","path":"/a/.."}]`, CodeInvalidValue, "volumes[0].path", "root"},
	{`"volumes":[{"name":"a","path":"/a:rw"}]`, CodeInvalidValue, "volumes[0].path", ":"},
	{`"volumes":[{"name":"a","path":"/a","kind":"nfs"}]`, CodeInvalidValue, "volumes[0].kind", "tmpfs"},
	{`"volumes":[{"name":"a","path":"/a","kind":"host"}]`, CodeMissingField, "volumes[0].source", "host"},
	{`"volumes":[{"name":"a","path":"/a","kind":"host","source":"b"}]`, CodeInvalidValue, "volumes[0].source", "absolute"},
	{`"volumes":[{"name":"a","path":"/a","source":"/b"}]`, CodeInvalidValue, "volumes[0].source", "host"},
	{`"volumes":[{"name":"a","path":"/a","size":"1MiB"}]`, CodeInvalidValue, "volumes[0].size", "tmpfs"},
	{`"volumes":[{"name":"a","path":"/a"},{"name":"a","path":"/b"}]`, CodeInvalidValue, "volumes[1].name", "volumes[0]"},
	{`"volumes":[{"name":"a","path":"/a"},{"name":"b","path":"/a/"}]`, CodeInvalidValue, "volumes[1].path", "volumes[0]"},
	{`"scratch":{"path":"tmp"}`, CodeInvalidValue, "scratch.path", "absolute"},
	{`"scratch":{"path":"/a/.."}`, CodeInvalidValue, "scratch.path", "root"},
	{`"scratch":{"size":"1"}`, CodeInvalidValue, "scratch.size", "64MiB"},
	{`"scratch":{"szie":"1GiB"}`, CodeUnknownField, "scratch.szie", "size"},
	{`"scratch":{},"volumes":[{"name":"a","path":"/scratch/"}]`, CodeInvalidValue, "scratch.path", "volumes[0]"},
	{`"resources":{"disk":"1MiB"},"requests":{"disk":"2MiB"}`, CodeOutOfRange, "requests.disk", "1MiB"},
	{`"devices":[{}]`, CodeInvalidValue, "devices[0].path", "absolute"},
	{`"devices":[{"path":"dev/fuse"}]`, CodeInvalidValue, "devices[0].path", "absolute"},
	{`"devices":[{"path":"/dev/../etc/shadow"}]`, CodeInvalidValue, "devices[0].path", "below /dev"},
	{`"devices":[{"path":"/dev/fuse","target":"/fuse"}]`, CodeInvalidValue, "devices[0].target", "below /dev"},
	{`"devices":[{"path":"/dev/fuse:/dev/x"}]`, CodeInvalidValue, "devices[0].path", ":"},
	{`"devices":[{"path":"/dev/fuse","access":"rwx"}]`, CodeInvalidValue, "devices[0].access", "r, w and m"},
	{`"devices":[{"path":"/dev/fuse"},{"path":"/dev/a","target":"/dev/./fuse"}]`, CodeInvalidValue, "devices[1].target", "devices[0]"},
	{`"secrets":[{}]`, CodeInvalidName, "secrets[0].name", "1 to 63"},
	{`"secrets":[{"name":"other.db"}]`, CodeInvalidName, "secrets[0].name", "other.db"},
	{`"secrets":[{"name":"db","value":"x"}]`, CodeUnknownField, "secrets[0].value", "value"},
	{`"secrets":[{"name":"db","path":"key"}]`, CodeInvalidValue, "secrets[0].path", "absolute"},
	{`"secrets":[{"name":"db","mode":"rw"}]`, CodeInvalidValue, "secrets[0].mode", "0400"},
	{`"secrets":[{"name":"db","mode":"4755"}]`, CodeInvalidValue, "secrets[0].mode", "0400"},
	{`"secrets":[{"name":"db","env":"DB","path":"/a"}]`, CodeInvalidValue, "secrets[0].env", "both"},
	{`"secrets":[{"name":"db","env":"A=B"}]`, CodeInvalidName, "secrets[0].env.A=B", "A=B"},
	{`"env":{"DB":"x"},"secrets":[{"name":"db","env":"DB"}]`, CodeInvalidValue, "secrets[0].env", "already"},
	{`"secrets":[{"name":"db","env":"DB"},{"name":"b","env":"DB"}]`, CodeInvalidValue, "secrets[1].env", "already"},
	{`"secrets":[{"name":"db"},{"name":"b","path":"/run/secrets/db"}]`, CodeInvalidValue, "secrets[1]", "secrets[0]"},
	{`"secrets":[{"name":"db"},{"name":"db","path":"/key"}]`, CodeInvalidValue, "secrets[1]", "one file"},
	{`"configs":[{}]`, CodeInvalidName, "configs[0].name", "1 to 63"},
	{`"configs":{"web-conf":{}}`, CodeWrongType, "configs", "a list"},
	{`"configs":[{"name":"team.web-conf"}]`, CodeInvalidName, "configs[0].name", "team.web-conf"},
	{`"configs":[{"name":"a","value":"x"}]`, CodeUnknownField, "configs[0].value", "value"},
	{`"configs":[{"name":"a","paht":"/a"}]`, CodeUnknownField, "configs[0].paht", `"path"`},
	{`"configs":[{"name":"a","path":"a"}]`, CodeInvalidValue, "configs[0].path", "absolute"},
	{`"configs":[{"name":"a","path":"/a/.."}]`, CodeInvalidValue, "configs[0].path", "root"},
	{`"configs":[{"name":"a","mode":"444"}]`, CodeInvalidValue, "configs[0].mode", "0400"},
	{`"configs":[{"name":"a"},{"name":"b","path":"/run/configs/./a"}]`, CodeInvalidValue, "configs[1].path", "configs[0]"},
	{`"configs":[{"name":"a"},{"name":"a"}]`, CodeInvalidValue, "configs[1].path", "configs[0]"},
	{`"configs":[{"name":"a","path":"/k"}],"secrets":[{"name":"e","env":"E"},{"name":"k","path":"/k"}]`, CodeInvalidValue, "configs[0].path", "secrets[1]"},
	{`"configs":[{"name":"a","path":"/d"}],"volumes":[{"name":"d","path":"/d/"}]`, CodeInvalidValue, "configs[0].path", "volumes[0]"},
	{`"configs":[` + strings.Repeat(`{"name":"a"},`, MaxConfigs) + `{"name":"a"}]`, CodeOutOfRange, "configs", "64"},
	{`"config":[{"name":"a"}]`, CodeUnknownField, "config", `"configs"`},
	{`"hooks":{"release":{"signal":"SIGHUP"}}`, CodeMissingField, "topology", "topology"},
	{`"hooks":{"acquire":{"signal":"SIGHUP"},"before_stop":{"signal":"SIGHUP"}}`, CodeMissingField, "topology", "hooks.acquire"},
	{`"hooks":{"before_stop":{}}`, CodeInvalidValue, "hooks.before_stop", "0 of signal, exec and http"},
	{`"hooks":{"before_stop":{"signal":"TERM"}}`, CodeInvalidValue, "hooks.before_stop.signal", "SIGHUP"},
	{`"mode":"job","hooks":{"before_stop":{"http":{"port":"p"}}}`, CodeInvalidValue, "hooks.before_stop.http.port", "0"},
	{`"hooks":{"before_stop":{"exec":["a\u0000"]}}`, CodeInvalidValue, "hooks.before_stop.exec[0]", "NUL"},
	{`"hooks":{"before-stop":{"exec":["a"]}}`, CodeUnknownField, "hooks.before-stop", "before_stop"},
	{`"topology":{},"hooks":{"before_stop":{"exec":["a"],"timeout":"1s"}}`, CodeUnknownField, "hooks.before_stop.timeout", "timeout"},
	{`"topology":{},"mode":"global"`, CodeInvalidValue, "topology", "global"},
	{`"topology":{},"mode":"job"`, CodeInvalidValue, "topology", "job"},
	{`"topology":{"path":"run"}`, CodeInvalidValue, "topology.path", "absolute"},
	{`"topology":{"path":"/a/.."}`, CodeInvalidValue, "topology.path", "root"},
	{`"topology":{},"volumes":[{"name":"a","path":"/run/rookery/"}]`, CodeInvalidValue, "topology.path", "volumes[0]"},
	{`"topology":{},"scratch":{"path":"/run/rookery"}`, CodeInvalidValue, "topology.path", "scratch"},
	{`"topology":{},"configs":[{"name":"a","path":"/run/rookery/a"}]`, CodeInvalidValue, "topology.path", "configs[0]"},
	{`"topology":{"on_failure":"pause"}`, CodeInvalidValue, "topology.on_failure", "abort, retry, continue"},
	{`"topology":{"paht":"/a"}`, CodeUnknownField, "topology.paht", "path"},
	{`"topology":{},"hooks":{"release":{}}`, CodeInvalidValue, "hooks.release", "0 of signal, exec and http"},
	{`"topology":{},"hooks":{"acquire":{"signal":"SIGHUP","exec":["a"]}}`, CodeInvalidValue, "hooks.acquire", "2 of"},
	{`"topology":{},"hooks":{"acquire":{"signal":"hup"}}`, CodeInvalidValue, "hooks.acquire.signal", "SIGHUP"},
	{`"topology":{},"hooks":{"acquire":{"http":{"port":"p"}}}`, CodeInvalidValue, "hooks.acquire.http.port", "0"},
	{`"topology":{},"hooks":{"acquire":{"http":{"port":"p","path":"a"}}},"ports":[{"name":"p","port":1}]`, CodeInvalidValue, "hooks.acquire.http.path", "begin"},
	{`"pull":"sometimes"`, CodeInvalidValue, "pull", "missing, always, never"},
	{`"init":{"image":"a b"}`, CodeInvalidValue, "init.image", "init.image"},
	{`"init":{"env":{"A=B":"1"}}`, CodeInvalidName, "init.env.A=B", "A=B"},
	{`"init":{"imgae":"a"}`, CodeUnknownField, "init.imgae", "image"},
	{`"health":{}`, CodeInvalidValue, "health", "0 of http, tcp and exec"},
	{`"health":{"exec":["a"],"tcp":{"port":"p"}}`, CodeInvalidValue, "health", "2 of"},
	{`"health":{"tcp":{"port":"p"}},"ports":[{"name":"q","port":1}]`, CodeInvalidValue, "health.tcp.port", `"q"`},
	{`"health":{"tcp":{"port":"p"}},"ports":[{"name":"p","port":1,"protocol":"udp"}]`, CodeInvalidValue, "health.tcp.port", "tcp"},
	{`"health":{"http":{"port":"p","path":"a"}},"ports":[{"name":"p","port":1}]`, CodeInvalidValue, "health.http.path", "begin"},
	{`"health":{"exec":["a"],"interval":"1ms"}`, CodeOutOfRange, "health.interval", "100ms"},
	{`"health":{"exec":["a"],"timeout":"-1s"}`, CodeOutOfRange, "health.timeout", "100ms"},
	{`"health":{"exec":["a"],"start_period":"2h"}`, CodeOutOfRange, "health.start_period", "1h"},
	{`"health":{"exec":["a"],"retries":101}`, CodeOutOfRange, "health.retries", "100"},
	{`"restart":{"policy":"sometimes"}`, CodeInvalidValue, "restart.policy", "always, on-failure, never"},
	{`"restart":{"delay":"1ms"}`, CodeOutOfRange, "restart.delay", "10ms"},
	{`"restart":{"delay":"2s","max_delay":"1s"}`, CodeOutOfRange, "restart.max_delay", "2s"},
	{`"restart":{"attempts":10001}`, CodeOutOfRange, "restart.attempts", "10000"},
	{`"restart":{"window":"1m"}`, CodeMissingField, "restart.attempts", "window"},
	{`"sidecars":[{"name":"a"}]`, CodeMissingField, "sidecars[0].image", "localhost/proxy:1"},
	{`"sidecars":[{"name":"A","image":"j"}]`, CodeInvalidName, "sidecars[0].name", "A"},
	{`"sidecars":[{"name":"a","image":"j"},{"name":"a","image":"j"}]`, CodeInvalidValue, "sidecars[1].name", "sidecars[0]"},
	{`"sidecars":[{"name":"a","image":"j k"}]`, CodeInvalidValue, "sidecars[0].image", "white space"},
	{`"net_work":"none"`, CodeUnknownField, "net_work", `"network"`},
}

func TestFieldsThatBreakARule(t *testing.T) {
	for _, tt := range brokenFields {
		t.Run(tt.fields, func(t *testing.T) {
			_, err := ensure(tt.fields)
			wantRejection(t, err, tt.code, tt.field, tt.says)
		})
	}
}

func TestFieldsOfOneMeaningHaveOneHash(t *testing.T) {
	for fields, same := range map[string]string{
		`"init":{"args":[],"env":{}}`:           `"init":{}`,
		`"devices":[{"path":"/dev/fuse"}]`:      `"devices":[{"path":"/dev//fuse","target":"/dev/fuse","access":"rw"}]`,
		`"secrets":[{"name":"db"}]`:             `"secrets":[{"name":"db","path":"/run/secrets/db","mode":"0444"}]`,
		`"configs":[{"name":"a"}]`:              `"configs":[{"name":"a","path":"/run//configs/a","mode":"0444"}]`,
		`"configs":[]`:                          `"args":[]`,
		`"scratch":{}`:                          `"scratch":{"path":"/scratch/","size":"1024MiB"}`,
		`"health":{"exec":["a"]}`:               `"health":{"exec":["a"],"interval":"10s","timeout":"2s","retries":3,"start_period":"0s"}`,
		`"restart":{"policy":"always"}`:         `"restart":{"delay":"15s","max_delay":"5m"}`,
		`"restart":{}`:                          `"args":[]`,
		`"mode":"job"`:                          `"mode":"job","job":{"completions":1,"parallelism":1,"backoff_limit":6},"restart":{"policy":"never"}`,
		`"network":"bridge","pull":"missing"`:   `"args":[]`,
		`"volumes":[{"name":"a","path":"/a/"}]`: `"volumes":[{"name":"a","path":"/a","kind":"volume"}]`,
		`"capabilities":[],"ulimits":[]`:        `"sysctls":{},"extra_hosts":[]`,
		`"sidecars":[{"name":"a","image":"i"}]`: `"sidecars":[{"name":"a","image":"i","command":[],"args":[],"env":{}}]`,
		`"volumes":[{"name":"a","path":"/a","kind":"host","source":"/srv"}]`: `"volumes":[{"name":"a","path":"/a","kind":"host","source":"/srv//x/../"}]`,
		`"capabilities":["net_raw","CAP_CHOWN"]`:                             `"capabilities":["CHOWN","CAP_NET_RAW","NET_RAW"]`,
		`"mode":"job","job":{"schedule":"@daily"}`:                           `"mode":"job","job":{"schedule":"@daily","time_zone":"UTC","overlap":"forbid"}`,
	} {
		a, errA := ensure(fields)
		b, errB := ensure(same)
		if errA != nil || errB != nil || a.Hash() != b.Hash() {
			t.Errorf("%s and %s have the hashes %s and %s (%v, %v)", fields, same, a.Hash(), b.Hash(), errA, errB)
		}
	}
}

// TestAPlainSpecKeepsItsForm holds the hash and form of a spec without the fields that came later: logs have them.
func TestAPlainSpecKeepsItsForm(t *testing.T) {
	plain := Spec{Image: "localhost/web:1"}
	body, err := json.Marshal(plain.withDefaults(), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"image":"localhost/web:1","stop_grace":"10s"}`; string(body) != want {
		t.Errorf("a plain spec is %s, want %s", body, want)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"10.0.0.7": true, "255.255.255.255": true, "::": true, "::1": true, "fd00::7": true, "1:2:3:4:5:6:7:8": true, "fe80::": true,
		"": false, "10.0.0": false, "10.0.0.256": false, "10.0.0.07": false, "10.0.0.+7": false, ":": false, "1:2:3:4:5:6:7": false,
		"1::2::3": false, "1:2:3:4:5:6:7:8::": false, "12345::": false, "fe80::1%eth0": false, "g::": false, ":1::": false,
	} {
		if got := validAddress(text); got != want {
			t.Errorf("%q is an address: %t, want %t", text, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{"0B": 0, "100B": 100, "1KiB": 1024, "1536KiB": 1536 << 10, "64MiB": 64 << 20, "3GiB": 3 << 30, "2TiB": 2 << 40} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text {
			t.Errorf("%s reads as %d (%s), %v", text, s, s, err)
		}
	}
}
