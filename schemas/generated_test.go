package schemas_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/schemas"
	"github.com/rookery-project/rookery/schemas/schematest"
)

// node is the part of a schema from which the test generates bodies.
type node struct {
	Ref        string           `json:"$ref"`
	Defs       map[string]*node `json:"$defs"`
	Type       string           `json:"type"`
	Enum       []any            `json:"enum"`
	Pattern    string           `json:"pattern"`
	Format     string           `json:"format"`
	Minimum    *json.Number     `json:"minimum"`
	Maximum    *json.Number     `json:"maximum"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Additional json.RawMessage  `json:"additionalProperties"`
	Items      *node            `json:"items"`
	OneOf      []*node          `json:"oneOf"`
}

// maker makes bodies for one schema, most of them valid.
type maker struct {
	root   *node
	random *rand.Rand
}

func (m *maker) odds(of int) bool { return m.random.IntN(of) == 0 }

func pick[T any](m *maker, from ...T) T { return from[m.random.IntN(len(from))] }

const wrongIn = 60 // one value in this many has another type, or is out of bounds

func (m *maker) value(n *node, name string) any {
	if n.Ref != "" {
		n = m.root.Defs[strings.TrimPrefix(n.Ref, "#/$defs/")]
	}
	if m.odds(wrongIn) {
		return pick[any](m, nil, 7, "text", true, []any{}, map[string]any{}, -1, 3.5)
	}
	if len(n.OneOf) > 0 {
		return m.value(pick(m, n.OneOf...), name)
	}
	if len(n.Enum) > 0 {
		return pick(m, n.Enum...)
	}
	switch n.Type {
	case "object":
		return m.object(n, name)
	case "array":
		all := make([]any, m.random.IntN(3))
		for i := range all {
			all[i] = m.value(n.Items, name)
		}
		return all
	case "boolean":
		return m.odds(2)
	case "integer", "number":
		return m.number(n)
	case "string":
		return m.text(n, name)
	}
	return pick[any](m, 1, "text", map[string]any{})
}

func (m *maker) object(n *node, name string) map[string]any {
	o := map[string]any{}
	fields := slices.Sorted(maps.Keys(n.Properties))
	for _, field := range fields {
		if needed := slices.Contains(n.Required, field); (needed && !m.odds(wrongIn)) || (!needed && m.random.IntN(len(fields)) < 3) {
			o[field] = m.value(n.Properties[field], field)
		}
	}
	var more node
	if json.Unmarshal(n.Additional, &more) == nil && len(fields) == 0 {
		for range m.random.IntN(3) {
			o[m.key(name)] = m.value(&more, "")
		}
	}
	if m.odds(wrongIn) {
		o["unknown"] = 1
	}
	return o
}

// key makes a key for a map in the field of that name.
func (m *maker) key(field string) string {
	if m.odds(10) {
		return pick(m, "not a name", "")
	}
	switch field {
	case "services":
		return pick(m, "web", "db", "api")
	case "sysctls":
		return pick(m, "net.core.somaxconn", "kernel.msgmax")
	}
	return pick(m, "A", "b", "c1")
}

func (m *maker) number(n *node) any {
	low, high := int64(-5), int64(100)
	if n.Minimum != nil {
		low, _ = n.Minimum.Int64()
	}
	if n.Maximum != nil {
		if v, err := n.Maximum.Int64(); err == nil {
			high = v
		}
	}
	switch m.random.IntN(12) {
	case 0:
		return low
	case 1:
		return high
	case 2:
		if m.odds(3) {
			return pick(m, low-1, high+1)
		}
	}
	return low + m.random.Int64N(min(high-low, 50)+1)
}

func (m *maker) text(n *node, name string) string {
	switch {
	case strings.Contains(n.Pattern, "ns|us"):
		return pick(m, "0", "1s", "5s", "1m30s", "10m", "24h", "1000h", "soon")
	case strings.Contains(n.Pattern, "kKMGT"):
		return pick(m, "64MiB", "1GiB", "0B", "100kB", "1.5GiB", "many")
	case strings.Contains(n.Pattern, "m?$"):
		return pick(m, "500m", "1", "2.5", "0", "a core")
	case strings.HasPrefix(n.Pattern, "^U"):
		return pick(m, "U"+strings.Repeat("A", 55), "U"+strings.Repeat("7", 55), "UAAA")
	case n.Pattern != "":
		return pick(m, "0-3", "demo/web", "a")
	case n.Format == "date-time":
		return pick(m, "2026-11-01T12:00:00Z", "now")
	}
	known := map[string][]string{
		"image": {"localhost/web:1", "docker.io/library/nginx:1.27", "no image"},
		"path":  {"/data", "/srv/x", "relative", "/"},
		"name":  {"web", "http", "data", "A B"},
		"after": {"web", "db"},
	}
	if texts := known[name]; len(texts) > 0 {
		return pick(m, texts...)
	}
	return pick(m, "text", "a", "", "/data", "1000", "A_B", "10.0.0.7")
}

// TestSchemasAndServiceAgree makes 1,000 bodies for each command. The service must refuse every body that the schema refuses. It must accept
// every body that the schema accepts, except for the rules in unsaid, which no schema expresses.
func TestSchemasAndServiceAgree(t *testing.T) {
	const bodies, seed = 1000, 1
	broken := make([]int, len(unsaid))
	for _, sample := range events.Samples() {
		subject, is := subjectOf(sample)
		if !is {
			continue
		}
		kind := sample.Kind()
		text, err := schemas.Files.ReadFile(kind.SchemaPath())
		if err != nil {
			t.Fatal(err)
		}
		m := maker{random: rand.New(rand.NewPCG(seed, 0))}
		if err := json.Unmarshal(text, &m.root); err != nil {
			t.Fatal(err)
		}
		taken, refused := 0, 0
		for range bodies {
			body, err := json.Marshal(m.object(m.root, ""))
			if err != nil {
				t.Fatal(err)
			}
			breaks := schematest.Validate(t, kind, body)
			switch r := events.ParseRequest(events.Message{Subject: subject, Body: body}); {
			case breaks == nil && r.Rejection == nil:
				taken++
			case breaks != nil && r.Rejection != nil:
				refused++
			case breaks == nil:
				rule := slices.IndexFunc(unsaid, func(u rule) bool { return u.of(r.Rejection) })
				if rule < 0 {
					t.Errorf("seed %d: the schema of %s accepts %s, but the service refuses it: %s at %q: %s", seed, kind.Word(), body, r.Rejection.Code, r.Rejection.Field, r.Rejection.Reason)
					continue
				}
				broken[rule]++
			default:
				t.Errorf("seed %d: the service accepts %s of %s, but the schema refuses it: %v", seed, kind.Word(), body, breaks)
			}
		}
		t.Logf("%s: both accept %d bodies and refuse %d, the service alone refuses %d", kind.Word(), taken, refused, bodies-taken-refused)
		if taken == 0 || refused == 0 {
			t.Errorf("%s: of %d bodies both accept %d and refuse %d, want some of each", kind.Word(), bodies, taken, refused)
		}
	}
	for i, u := range unsaid {
		if broken[i] == 0 {
			t.Errorf("no body breaks this rule: %s", u.why)
		}
	}
}

// rule is a rule that the service checks and that no schema expresses: the codes and fields of its rejections, and its description.
type rule struct{ code, field, why string }

func (u rule) of(r *events.Rejection) bool {
	return regexp.MustCompile("^("+u.code+")$").MatchString(string(r.Code)) && regexp.MustCompile(`^(services\.[a-z]+\.)?(`+u.field+")$").MatchString(r.Field)
}

// unsaid are the rules that no schema expresses.
var unsaid = []rule{
	{"invalid-name", `(node_selector|labels|sysctls|env|init\.env|sidecars\[\d+\]\.env|services)(\..*)?`, "the keys of a map have a grammar of their own"},
	{"missing-field", `services`, "a group has services"},
	{"invalid-value", `(init\.|sidecars\[\d+\]\.)?image`, "an image has no white space"},
	{"out-of-range", `(deadline|stop_grace|drain_delay|.*\.(min_healthy|healthy_deadline|silent_after|lost_after|max_delay|attempts|interval|delay)|ttl)`, "a time as text has bounds, some of which are other fields"},
	{"out-of-range", `resources\..*`, "an amount as text has bounds"},
	{"out-of-range", `(spread|anti_affinity)\[\d+\]\.values`, "an operator takes so many values"},
	{"invalid-value", `uses`, "a token takes uses or approval"},
	{"invalid-value", `busy`, "a group does not wait in queues"},
	{"missing-field", `volumes`, "a snapshot needs something that it holds"},
	{"missing-field|out-of-range", `restart\.(attempts|window)`, "attempts and window go together"},
	{"invalid-value", `capabilities\[\d+\]`, "a capability is one of the kernel's"},
	{"invalid-value", `job|mode|max_per_node|scale|update|health|volumes|sidecars`, "a mode excludes fields"},
	{"invalid-value", `sidecars\[\d+\]\.name|ports\[\d+\]\.(name|host_port)|ulimits\[\d+\]\.name`, "what is in a list is there once"},
	{"invalid-value|invalid-name", `hostname|extra_hosts\[\d+\]\.(name|address)`, "hosts and addresses have grammars of their own"},
	{"invalid-value", `(health|hooks\.[a-z_]+)\.(tcp|http)\.port|after`, "a name is that of something else in the body"},
	{"invalid-value", `hooks\.[a-z_]+`, "a hook is one of several things"},
	{"missing-field", `job\.schedule`, "what is said of overlapping runs needs a schedule"},
	{"invalid-value|missing-field", `update\.[a-z_]+`, "a strategy of updates excludes fields"},
}

func subjectOf(sample events.Data) (string, bool) {
	k := sample.Kind()
	place := map[string]string{"service": "service.demo.web.", "group": "group.demo.shop.", "node": "node.n1.", "cluster": "cluster."}[k.Thing]
	subject := events.CommandRoot + "." + place + k.Name
	r := events.ParseRequest(events.Message{Subject: subject, Body: []byte("{}")})
	return subject, r.Verb != ""
}
