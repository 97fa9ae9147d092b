package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// project reads a file in a folder of its own, beside others.
func project(t *testing.T, file string, beside map[string]string) Project {
	t.Helper()
	folder := t.TempDir()
	for name, text := range beside {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(t.Context(), []File{{Name: filepath.Join(folder, "compose.yaml"), Body: []byte(file)}}, "demo")
	if err != nil {
		t.Fatal(err)
	}
	return s.Project()
}

// becomes has lines of a service, and what the spec has of them beside the image.
var becomes = []struct{ says, spec string }{
	{"command: [a, '{{b}}']\nentrypoint: /c d", `"args":["a","{{\"{{\"}}b}}"],"command":["/c","d"]`},
	{"environment: {A: b}\nenv_file: more.env", `"env":{"A":"b","FROM":"file"}`},
	{"ports: ['53:53/tcp', '53:53/udp']", `"ports":[{"name":"port-53","port":53,"protocol":"tcp","host_port":53},` +
		`{"name":"port-53-udp","port":53,"protocol":"udp","host_port":53}]`},
	{"ports: ['8080:80', '53/udp', {name: web, target: 81}]", `"ports":[{"name":"port-80","port":80,"protocol":"tcp","host_port":8080},` +
		`{"name":"port-53-udp","port":53,"protocol":"udp"},{"name":"web","port":81}]`},
	{
		"volumes: ['db_data:/data', {type: tmpfs, target: /tmp/x, tmpfs: {size: 1048576}}]\ntmpfs: /run:size=64m",
		`"volumes":[{"name":"db-data","path":"/data"},{"name":"tmp-x","path":"/tmp/x","kind":"tmpfs","size":"1MiB"},{"name":"run","path":"/run","kind":"tmpfs","size":"64MiB"}]`,
	},
	{"healthcheck: {test: 'curl -f x', interval: 5s, retries: 2}", `"health":{"exec":["/bin/sh","-c","curl -f x"],"interval":"5s","timeout":"30s","retries":2}`},
	{
		"deploy: {replicas: 3, resources: {limits: {cpus: '0.5', memory: 64M}, reservations: {memory: 32M}}}",
		`"requests":{"memory":"32MiB"},"resources":{"cpu":"500m","memory":"64MiB"},"scale":3`,
	},
	{
		"deploy: {mode: global, placement: {constraints: [node.labels.disk == ssd], max_replicas_per_node: 1}}",
		`"max_per_node":1,"mode":"global","node_selector":{"disk":"ssd"}`,
	},
	{
		"labels: {a: b}\ndeploy: {placement: {preferences: [{spread: node.labels.zone}]}}",
		`"labels":{"a":"b","com.docker.compose.service":"web"},"spread":[{"label":"com.docker.compose.service","operator":"equal","values":["web"]}]`,
	},
	{
		"deploy: {mode: replicated-job, replicas: 2, restart_policy: {condition: on-failure, max_attempts: 4}}",
		`"job":{"backoff_limit":4,"completions":2,"parallelism":2},"mode":"job"`,
	},
	{
		"deploy: {update_config: {parallelism: 2, order: start-first, failure_action: rollback, monitor: 10s, max_failure_ratio: 0.5, delay: 1s}}",
		`"update":{"delay":"1s","max_failure_ratio":0.5,"monitor":"10s","on_failure":"rollback","order":"start-first","parallelism":2}`,
	},
	{
		"deploy: {restart_policy: {condition: on-failure, delay: 2s, max_attempts: 3, window: 60s}}",
		`"restart":{"attempts":3,"delay":"2s","policy":"on-failure","window":"1m0s"}`,
	},
	{"deploy: {update_config: {max_failure_ratio: 0.3}}", `"update":{"max_failure_ratio":0.3,"order":"stop-first"}`},
	{"restart: 'no'", `"restart":{"policy":"never"}`},
	{"restart: unless-stopped", `"restart":{"policy":"always"}`},
	{"restart: on-failure:3", `"restart":{"attempts":3,"policy":"on-failure"}`},
	{"cap_drop: [ALL]\ncap_add: [NET_BIND_SERVICE]", `"capabilities":["NET_BIND_SERVICE"]`},
	{
		"read_only: true\nuser: '1000:1000'\nworking_dir: /w\nhostname: h\nstop_grace_period: 1m",
		`"hostname":"h","read_only_root":true,"stop_grace":"1m0s","user":"1000:1000","working_dir":"/w"`,
	},
	{
		"extra_hosts: ['db:10.0.0.7']\nsysctls: {net.core.somaxconn: 1024}\nulimits: {nofile: 1024}\nshm_size: 128m",
		`"extra_hosts":[{"address":"10.0.0.7","name":"db"}],"shm_size":"128MiB","sysctls":{"net.core.somaxconn":"1024"},"ulimits":[{"name":"nofile","value":1024}]`,
	},
	{
		"devices: ['/dev/fuse:/dev/fuse:rw']\nsecurity_opt: [no-new-privileges:true]\nprivileged: false\ntty: false",
		`"devices":[{"access":"rw","path":"/dev/fuse","target":"/dev/fuse"}]`,
	},
	{"configs: [web]\nlabels: [a=b]\nnetworks: [default]", `"configs":[{"name":"web-185f8db322","path":"/web"}],"labels":{"a":"b"}`},
	{"secrets: [{source: key, target: k, mode: 0400}]", `"secrets":[{"mode":"0400","name":"key","path":"/run/secrets/k"}]`},
	{
		"x-rookery: {health: {http: {port: web, path: /}}, env: {SELF: '{{.Address \"web\"}}'}}\nports: [{name: web, target: 80}]\nenvironment: {A: b}",
		`"env":{"A":"b","SELF":"{{.Address \"web\"}}"},"health":{"http":{"path":"/","port":"web"}},"ports":[{"name":"web","port":80}]`,
	},
}

// TestWhatBecomesOfAService maps lines of a service to the fields of its spec.
func TestWhatBecomesOfAService(t *testing.T) {
	for _, c := range becomes {
		file := "services:\n  web:\n    image: i\n    " + strings.ReplaceAll(c.says, "\n", "\n    ") +
			"\nvolumes: {db_data: {}}\nnetworks: {default: {}}\nconfigs: {web: {content: Hello}}\nsecrets: {key: {external: true}}\n"
		p := project(t, file, map[string]string{"more.env": "FROM=file\nA=other\n"})
		if len(p.Refused) > 0 {
			t.Errorf("%s: refused is %v", c.says, p.Refused)
		}
		got, err := json.Marshal(p.Services["web"], json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal([]byte(`{"image":"i",`+c.spec+"}"), &want); err != nil {
			t.Fatal(err)
		}
		if w, err := json.Marshal(want, json.Deterministic(true)); err != nil || string(w) != string(got) {
			t.Errorf("%s\n is %s\nwant %s", c.says, got, w)
		}
	}
}

// TestValuesThatAreRefused checks values of carried keys that Rookery would treat differently than Compose.
func TestValuesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ says, key, wants string }{
		{"ports: ['127.0.0.1:80:80']", "ports[0].host_ip", "leave it out"},
		{"ports: [{target: 80, published: '8000-8010'}]", "ports[0].published", "one number"},
		{"volumes: ['./conf:/conf']", "volumes[0].source", "path of this machine"},
		{"volumes: ['data:/a']", "volumes[0].source", "each slot of a service has its own"},
		{"tmpfs: /run:mode=755", "tmpfs[0]", "size alone"},
		{"deploy: {mode: global-job}", "deploy.mode", "replicated-job"},
		{"deploy: {placement: {constraints: [node.role == manager]}}", "deploy.placement.constraints[0]", "rookery node --label"},
		{"deploy: {placement: {constraints: [node.labels.a != b]}}", "deploy.placement.constraints[0]", "node.labels.NAME==VALUE"},
		{"deploy: {placement: {preferences: [{spread: node.labels.rack}]}}", "deploy.placement.preferences[0].spread", "--zone"},
		{"deploy: {rollback_config: {parallelism: 2}}", "deploy.rollback_config.parallelism", "update_config"},
		{"deploy: {restart_policy: {window: 5s}}", "deploy.restart_policy.window", "max_attempts"},
		{"ulimits: {nofile: {soft: 1, hard: 2}}", "ulimits.nofile", "one number"},
		{"security_opt: ['seccomp:x']", "security_opt[0]", "leave it out"},
		{"network_mode: service:a", "network_mode", "sidecar"},
		{"extra_hosts: ['h:host-gateway']", "extra_hosts", "IP address"},
		{"cap_add: [ALL]", "cap_add", "name those"},
		{"pull_policy: build", "pull_policy", "always"},
		{"depends_on: {a: {condition: service_healthy}}", "depends_on.a.condition", "healthcheck"},
		{"depends_on: {a: {condition: service_started, restart: true}}", "depends_on.a.restart", "connect again"},
		{"entrypoint: []", "entrypoint", "name the one"},
		{"expose: ['80-90']", "expose[0]", "a line for each"},
		{"networks: {default: {aliases: [db]}}", "networks.default.aliases", "leave it out"},
	} {
		file := "services:\n  web:\n    image: i\n    " + c.says + "\n  a:\n    image: i\n    volumes: ['data:/a']\nvolumes: {data: {}}\nnetworks: {default: {}}\n"
		p := project(t, file, nil)
		if len(p.Refused) != 1 {
			t.Errorf("%s: refused is %v", c.says, p.Refused)
			continue
		}
		i := p.Refused[0]
		if i.Key != "services.web."+c.key || i.Service != "web" || i.Line == 0 || !strings.Contains(i.String(), c.wants) {
			t.Errorf("%s: %s", c.says, i)
		}
	}
}

// TestSecretsStayWhereTheyAre checks that neither issues nor services contain the value of a secret.
func TestSecretsStayWhereTheyAre(t *testing.T) {
	p := project(t, "services: {web: {image: i, secrets: [db_password]}}\nsecrets: {db_password: {file: ./pw}}\n", map[string]string{"pw": "s3cret"})
	if len(p.Refused) != 1 || !strings.Contains(p.Refused[0].String(), "podman secret create demo.db-password ") {
		t.Errorf("refused is %v", p.Refused)
	}
	t.Setenv("KEY_OF_THE_SHOP", "s3cret")
	shell := project(t, "services: {web: {image: i, secrets: [key]}}\nsecrets: {key: {environment: KEY_OF_THE_SHOP}}\n", nil)
	if said := shell.Refused[0].String(); !strings.Contains(said, `printf %s "$KEY_OF_THE_SHOP" | podman secret create demo.key -`) || strings.Contains(said, "s3cret") {
		t.Error(said)
	}
	all, err := json.Marshal(p)
	if err != nil || strings.Contains(string(all), "s3cret") || !strings.Contains(string(all), `"name":"db-password"`) {
		t.Errorf("%v: %s", err, all)
	}
}

// TestOrderAndJobs checks that a service becomes a job if others wait until it completes.
func TestOrderAndJobs(t *testing.T) {
	p := project(t, `
services:
  db: {image: i, healthcheck: {test: [CMD, /check]}}
  migrate: {image: i, depends_on: {db: {condition: service_healthy}}, restart: "no"}
  web: {image: i, ports: ["80"], environment: {URL: "postgres://db:5432/x", DB_PASSWORD: pw}, depends_on: {migrate: {condition: service_completed_successfully}, db: {condition: service_started}}}
  debug: {image: i, profiles: [debug]}
`, nil)
	got, err := json.Marshal(p.After, json.Deterministic(true))
	if err != nil || string(got) != `{"migrate":["db"],"web":["db","migrate"]}` {
		t.Errorf("%v: after is %s", err, got)
	}
	if m := p.Services["migrate"].(map[string]any); m["mode"] != "job" || p.Services["debug"] != nil {
		t.Errorf("the services are %v", p.Services)
	}
	if len(p.Refused) != 1 || p.Refused[0].Key != "services.debug.profiles" {
		t.Errorf("refused is %v", p.Refused)
	}
	var said strings.Builder
	for _, i := range p.Otherwise {
		said.WriteString(i.String() + "\n")
	}
	if !strings.Contains(said.String(), "environment.URL: it seems to name the service db") || !strings.Contains(said.String(), "ports[0]: a process may take") || !strings.Contains(said.String(), "prefer secrets") || strings.Contains(said.String(), "pw") {
		t.Errorf("said is %s", said.String())
	}
}

// TestServicesThatAreLeftOutAreNamed checks that a project lists the services that it skips. Without the list, --prune would drop them
// as services that the files do not list.
func TestServicesThatAreLeftOutAreNamed(t *testing.T) {
	p := project(t, "services:\n  web: {image: i}\n  tools: {image: i, profiles: [debug]}\n  made: {build: .}\n", nil)
	if want := []string{"made", "tools"}; !slices.Equal(p.Left, want) || len(p.Services) != 1 {
		t.Errorf("%v are left out of %v, want %v", p.Left, p.Services, want)
	}
}
