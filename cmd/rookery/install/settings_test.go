package install

import (
	"strings"
	"testing"

	units "github.com/rookery-project/rookery/deploy/package"
)

func TestSettingsAreAddedOnce(t *testing.T) {
	wanted := []Setting{{"context", "/etc/rookery/coordinator.json"}, {"server", "nats://10.0.0.1:4222"}}
	const added = "context: /etc/rookery/coordinator.json\nserver: nats://10.0.0.1:4222\n"
	for name, row := range map[string]struct{ before, after, wrong string }{
		"none":                        {"", added, ""},
		"a comment":                   {"# Ours.\n#context: /elsewhere\n", "# Ours.\n#context: /elsewhere\n" + added, ""},
		"no end of the line":          {"metrics: 127.0.0.1:9464", "metrics: 127.0.0.1:9464\n" + added, ""},
		"one of them":                 {"server: nats://10.0.0.1:4222\n", "server: nats://10.0.0.1:4222\ncontext: /etc/rookery/coordinator.json\n", ""},
		"all":                         {added, added, ""},
		"another way":                 {"creds: /etc/other.creds\n", "", "creds is /etc/other.creds there: remove that line"},
		"another value":               {"server: nats://10.0.0.9:4222\n", "", "server is nats://10.0.0.9:4222 there, and would be nats://10.0.0.1:4222"},
		"other than YAML":             {"server: [", "", "want YAML"},
		"a list":                      {"- server\n", "", "want YAML"},
		"another value of a kind":     {"context: {a: b}\n", "", "context is map[a:b] there"},
		"a repeated flag":             {"metrics: a:1\nmetrics: b:1\n", "", "want YAML"},
		"the sample of the release":   {sample(t), sample(t) + added, ""},
		"a value with a colon inside": {"name: \"a: b\"\n", "name: \"a: b\"\n" + added, ""},
	} {
		got, err := set([]byte(row.before), wanted)
		if row.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("%s: the error is %v, want %q", name, err, row.wrong)
			}
			continue
		}
		if err != nil || string(got) != row.after {
			t.Errorf("%s: it becomes %q, %v; want %q", name, got, err, row.after)
		}
	}
}

func sample(t *testing.T) string {
	t.Helper()
	text, err := units.Files.ReadFile("coordinator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
