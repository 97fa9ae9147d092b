package events

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// twoPorts are the ports of the specs whose templates are tested.
var twoPorts = []Port{{Name: "http", Port: 80}, {Name: "gossip", Port: 90, Protocol: UDP}}

// at returns where an instance of such a spec is, its two ports behind one another.
func at(host string, first uint16) Addresses {
	return Addresses{Host: host, Ports: []PortBinding{{Name: "http", Port: 80, HostPort: first}, {Name: "gossip", Port: 90, HostPort: first + 1}}}
}

// theSecond is what is assigned to the second of three instances, the last of which has no node.
func theSecond() Assigned {
	slots := []Addresses{at("10.0.0.1", 20000), at("fd00::2", 20010), {}}
	return Assigned{
		Instance: InstanceID{Service: ServiceID{Namespace: "demo", Name: "web"}, Ordinal: 1, Generation: 7},
		Own:      slots[1], Scale: 3, Slot: func(ordinal uint32) Addresses { return slots[ordinal] },
	}
}

func TestTemplatesRender(t *testing.T) {
	for text, want := range map[string]string{
		`plain }} text`:                         `plain }} text`,
		`{{"{{"}}.ID}}`:                         `{{.ID}}`,
		"a {{- /* said aside */ -}} b":          `ab`,
		`{{.Namespace}}/{{.Service}}`:           `demo/web`,
		`{{.Ordinal}} {{.Generation}}`:          `1 7`,
		`--listen={{.Address "http"}}`:          `--listen=[fd00::2]:20010`,
		`{{.Address "gossip"}}`:                 `[fd00::2]:20011`,
		`{{join (.Peers "http") ","}}`:          `10.0.0.1:20000,[fd00::2]:20010,`,
		`{{len (.Peers "http")}}`:               `3`,
		`{{.Peer "gossip" 0}}`:                  `10.0.0.1:20001`,
		`{{.Peer "http" 2}}`:                    ``,
		`{{.Peer "http" 9}}`:                    ``,
		`{{.Peer "http" .Ordinal}}`:             `[fd00::2]:20010`,
		`{{range .Peers "http"}}<{{.}}>{{end}}`: `<10.0.0.1:20000><[fd00::2]:20010><>`,
		`{{range $i, $p := .Peers "http"}}{{if and (ne $i $.Ordinal) (ne $p "")}}{{$i}}={{$p}};{{end}}{{end}}`: `0=10.0.0.1:20000;`,
		`{{range $p := .Peers "http"}}{{len ($.Peers "gossip")}}{{else}}none{{end}}`:                           `333`,
		`{{if eq .Ordinal 0}}first{{else if lt .Ordinal 2}}{{.Address "http"}}{{else}}rest{{end}}`:             `[fd00::2]:20010`,
		`{{if not (ge .Generation 7)}}a{{else}}b{{end}}`:                                                       `b`,
		`{{or (.Peer "http" 2) "absent"}} {{gt 2 1}}`:                                                          `absent true`,
		`{{if .Peers "http"}}some{{end}}{{true}}`:                                                              `sometrue`,
	} {
		spec := Spec{Image: "i", Ports: twoPorts, Args: []string{text}}
		if err := spec.check(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := spec.Render(theSecond()); got.Args[0] != want || spec.Args[0] != text {
			t.Errorf("%s renders as %q, want %q", text, got.Args[0], want)
		}
	}
}

func TestTemplatesStandWhereverProgramsDo(t *testing.T) {
	const text = `{{.Ordinal}} {{.Address "http"}}`
	const want = `1 [fd00::2]:20010`
	program := func(text string) ([]string, []string, map[string]string) {
		return []string{"c", text}, []string{text, "a"}, map[string]string{"A": text, "B": "b"}
	}
	with := func(text string) Spec {
		s := Spec{Image: "i", Ports: twoPorts}
		s.Command, s.Args, s.Env = program(text)
		s.Init, s.Sidecars = &InitContainer{}, []Sidecar{{Name: "a", Image: "j"}, {Name: "b", Image: "j"}}
		s.Init.Command, s.Init.Args, s.Init.Env = program(text)
		s.Sidecars[1].Command, s.Sidecars[1].Args, s.Sidecars[1].Env = program(text)
		return s
	}
	before := with(text)
	if got := before.Render(theSecond()); !reflect.DeepEqual(got, with(want)) {
		t.Errorf("it renders as %+v", got)
	}
	if !reflect.DeepEqual(before, with(text)) {
		t.Errorf("rendering changed the spec: %+v", before)
	}
	for _, field := range []string{"command[0]", "args[0]", "env.A", "init.command[0]", "init.args[0]", "init.env.A", "sidecars[0].command[0]", "sidecars[0].args[0]", "sidecars[0].env.A"} {
		inner, names := `{{.Unknown}}`, strings.Split(field, ".")
		for i := len(names) - 1; i >= 0; i-- {
			name, isList := strings.CutSuffix(names[i], "[0]")
			switch {
			case isList && name == "sidecars":
				inner = `{"sidecars":[{"name":"a","image":"j",` + inner[1:] + `]}`
			case isList:
				inner = fmt.Sprintf(`{%q:[%q]}`, name, inner)
			case name == "A":
				inner = fmt.Sprintf(`{"A":%q}`, inner)
			default:
				inner = fmt.Sprintf(`{%q:%s}`, name, inner)
			}
		}
		_, err := ensure(inner[1 : len(inner)-1])
		wantRejection(t, err, CodeInvalidValue, field, field+" has .Unknown in it")
	}
}

func TestTemplatesThatBreakARule(t *testing.T) {
	for text, says := range map[string]string{
		`{{`:                                         `is not a template: line 1: unclosed action; to write {{ in the text itself, use {{"{{"}}`,
		"{{.Ordinal}\n}":                             `bad character U+007D '}'`,
		`{{end}}`:                                    `unexpected {{end}}`,
		"{{\x01}}":                                   `U+0001`,
		`{{.}}`:                                      `a bare dot in it: name a field, as in {{.Ordinal}}`,
		`{{$}}`:                                      `$ in it, which has no such field: known are .Address, .Generation, .Namespace, .Ordinal, .Peer, .Peers, .Service`,
		`{{.ordinal}}`:                               `.ordinal in it: did you mean .Ordinal?`,
		`{{.Image}}`:                                 `.Image in it: known are .Address, `,
		`{{.Ordinal.Bits}}`:                          `.Ordinal.Bits in it, which has no such field`,
		`{{.assigned}}`:                              `known are`,
		`{{.Addrss "http"}}`:                         `did you mean .Address?`,
		`{{.Address "htpp"}}`:                        `asks for the port "htpp", which the service does not have: did you mean "http"?`,
		`{{.Peers "metrics"}}`:                       `asks for the port "metrics", which the service does not have: it has 2, http, gossip`,
		`{{.Address}}`:                               `gives 0 words to .Address, which takes 1: write (.Address "http")`,
		`{{.Address .Service}}`:                      `gives .Service to .Address: write the name of a port in quotes`,
		`{{.Peer "http"}}`:                           `write (.Peer "http" 0)`,
		`{{.Peer "http" "0"}}`:                       `gives "0" to .Peer, which is text and not a number`,
		`{{.Peer "http" -1}}`:                        `the number -1 in it: numbers are whole, from 0 to`,
		`{{.Peer "http" 1.5}}`:                       `numbers are whole`,
		`{{.Peer "http" 1e2}}`:                       `numbers are whole`,
		`{{.Peer "http" 'a'}}`:                       `numbers are whole`,
		`{{99999999999999999999}}`:                   `integer overflow`,
		`{{9999999999}}`:                             `numbers are whole`,
		`{{.Ordinal 1}}`:                             `gives 1 words to .Ordinal, which takes 0`,
		`{{.Peers "http"}}`:                          `prints the list .Peers "http": write {{join (.Peers "…") ","}}`,
		`{{join .Peers "http" ","}}`:                 `gives 0 words to .Peers`,
		`{{join "," (.Peers "http")}}`:               `write {{join (.Peers "…") ","}}`,
		`{{joyn (.Peers "http") ","}}`:               `calls "joyn", which is not a function: did you mean "join"?`,
		`{{printf "%9999999d" 1}}`:                   `calls "printf", which is not a function: known are and, eq, ge, gt, join, le, len, lt, ne, not, or`,
		`{{call .Ordinal}}`:                          `calls "call"`,
		`{{index (.Peers "http") 0}}`:                `calls "index"`,
		`{{eq .Ordinal "1"}}`:                        `calls eq with what it does not take`,
		`{{lt .Service "a"}}`:                        `calls lt with what it does not take`,
		`{{and 1 2 3}}`:                              `calls and with what it does not take`,
		`{{nil}}`:                                    `nil`,
		`{{"a\x00b"}}`:                               `NUL`,
		`{{"a\xffb"}}`:                               `UTF-8`,
		`{{.Peers "http" | len}}`:                    `has a pipe in it`,
		`{{(.Address "http").Host}}`:                 `which templates do not take`,
		`{{$x := .Ordinal}}{{$x}}`:                   `sets the variable $x: only range has variables`,
		`{{$ = .Ordinal}}`:                           `sets the variable $`,
		`{{with .Ordinal}}a{{end}}`:                  `templates take if and range`,
		`{{template "a"}}`:                           `templates take if and range`,
		`{{block "a" .}}{{end}}`:                     `defines a template within a template`,
		`{{define "a"}}{{end}}`:                      `defines a template within a template`,
		`{{define "template"}}a{{end}}`:              `defines a template within a template`,
		`{{range 1000000000}}{{end}}`:                `ranges over 1000000000, which is a number: write {{range .Peers "…"}}`,
		`{{range .Service}}{{end}}`:                  `ranges over .Service, which is text`,
		`{{range .Peers "http"}}{{.Ordinal}}{{end}}`: `.Ordinal within a range, where the dot is the address: write $.Ordinal`,
		`{{range .Peers "http"}}{{break}}{{end}}`:    `templates take if and range`,
		`{{range .Peers "http"}}{{range $.Peers "http"}}{{end}}{{end}}`: `has a range within a range`,
		`{{range $ := .Peers "http"}}{{$.Ordinal}}{{end}}`:              `sets the variable $ again`,
		`{{range $i, $p := .Peers "http"}}{{$p.A}}{{end}}`:              `$p.A in it, which has no such field`,
		`{{if eq (join (.Peers "http") ",") "a"}}{{end}}`:               `uses what is joined in join (.Peers "http") ","`,
		`{{if}}{{end}}`:      `missing value for if`,
		`{{.Ordinal}}{{$y}}`: `undefined variable "$y"`,
	} {
		t.Run(text, func(t *testing.T) {
			spec := Spec{Image: "i", Ports: twoPorts, Args: []string{"a", "b", text}}
			wantRejection(t, spec.check(), CodeInvalidValue, "args[2]", "args[2] ", says)
			if got := spec.Render(theSecond()); !reflect.DeepEqual(got, spec) {
				t.Errorf("it renders as %+v", got)
			}
		})
	}
}

func TestTemplatesAreBounded(t *testing.T) {
	const all = `{{join (.Peers "http") ","}}`
	// Each calls for two things for each peer, and prints nothing.
	const idle = `{{range .Peers "http"}}{{if .}}{{end}}{{end}}`
	for _, tt := range []struct {
		args   []string
		at     uint32
		beyond uint32
		says   string
	}{
		{[]string{all}, 1000, 1300, "args[0], with the templates before it, may make 70200 bytes, more than 65536"},
		{[]string{all, "plain", all}, 600, 650, "args[2], with the templates before it, may make 70200 bytes"},
		{[]string{strings.Repeat(idle, 4)}, 1000, 2000, "args[0], with the templates before it, may take"},
		{[]string{`{{.Peer "http" 0}}`}, MaxScale, 0, ""},
		{[]string{strings.Repeat("a", MaxText)}, MaxScale, 0, ""},
		{[]string{`{{.ID}} of a log from before there were templates`}, MaxScale, 0, ""},
	} {
		spec := Spec{Image: "i", Ports: twoPorts, Args: tt.args}
		if err := spec.CheckScale(tt.at); err != nil {
			t.Errorf("%.60q at scale %d: %v", tt.args, tt.at, err)
		}
		if tt.says != "" {
			wantRejection(t, spec.CheckScale(tt.beyond), CodeOutOfRange, "scale", fmt.Sprintf("scale %d is too much", tt.beyond), tt.says)
		}
	}
}

func TestManyTemplatesAreBoundedAtAnyScale(t *testing.T) {
	spec := Spec{Image: "i", Args: make([]string, MaxArguments)}
	for i := range spec.Args {
		spec.Args[i] = strings.Repeat("{{1}}", 100)
	}
	wantRejection(t, spec.check(), CodeOutOfRange, "args[32]", "bytes, more than 65536")
}

// TestTextIsPrintedOnceForEachPeerOfARange prints a text in a range: it fits once, and not for every peer.
func TestTextIsPrintedOnceForEachPeerOfARange(t *testing.T) {
	const text, peers = 4000, 20
	spec := Spec{Image: "i", Ports: twoPorts, Args: []string{`{{range .Peers "http"}}` + strings.Repeat("a", text) + `{{end}}`}}
	if err := spec.CheckScale(MaxRendered / text); err != nil {
		t.Errorf("it fits, and is refused: %v", err)
	}
	wantRejection(t, spec.CheckScale(peers), CodeOutOfRange, "scale", "may make 80000 bytes")
}

func TestNumbersInTemplatesAreBounded(t *testing.T) {
	for text, taken := range map[string]bool{`{{2147483647}}`: true, `{{2147483648}}`: false, `{{-1}}`: false, `{{1.5}}`: false} {
		if err := (Spec{Image: "i", Args: []string{text}}).check(); (err == nil) != taken {
			t.Errorf("%s: %v, want it taken: %t", text, err, taken)
		}
	}
}

// FuzzTemplates holds what is taken to render without an error, within its bound, and to text that can be written.
func FuzzTemplates(f *testing.F) {
	for _, text := range []string{
		`{{.Address "http"}} {{.Peer "gossip" .Ordinal}}`, `{{join (.Peers "http") ","}}`, `{{"{{"}}`, `{{range 9}}{{end}}`,
		`{{range $i, $p := .Peers "http"}}{{if and (ne $i $.Ordinal) $p}}{{$p}}{{else}}{{.}}{{end}}{{end}}`,
		`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, `{{$x := "a"}}{{$x = print $x $x}}`, `{{or (eq 1 2) (lt .Generation 3)}}`,
		`{{len (.Peers "http")}}{{- /* a */ -}}{{not true}}`, `{{printf "%*d" 1000000 1}}`, `{{(.Peer "http" 1).X}}{{nil}}{{1i}}`,
	} {
		f.Add(text, byte(3))
	}
	longest := Addresses{Host: "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"}
	for _, p := range twoPorts {
		longest.Ports = append(longest.Ports, PortBinding{Name: p.Name, HostPort: 65535})
	}
	f.Fuzz(func(t *testing.T, text string, scale byte) {
		if checkText("", text) != nil || !utf8.ValidString(text) {
			return // it does not come so far
		}
		spec := Spec{Image: "i", Ports: twoPorts, Args: []string{text}}
		reader := templateReader{ports: twoPorts, scale: int64(scale)}
		made, err := reader.read("args[0]", text)
		if err != nil {
			wantAnyRejection(t, err)
			wantAnyRejection(t, spec.CheckScale(uint32(scale)))
			return
		}
		var b strings.Builder
		assigned := Assigned{Own: longest, Scale: uint32(scale), Slot: func(uint32) Addresses { return longest }}
		if err := made.Execute(&b, newTemplateValue(assigned)); err != nil {
			t.Fatalf("it was taken and does not render: %v", err)
		}
		if int64(b.Len()) > reader.made || reader.made > MaxRendered {
			t.Errorf("it made %d bytes, and %d were the most: %.200q", b.Len(), reader.made, b.String())
		}
		if strings.ContainsRune(b.String(), 0) || !utf8.ValidString(b.String()) {
			t.Errorf("it made bytes that are not text: %q", b.String())
		}
	})
}

func wantAnyRejection(t *testing.T, err error) {
	t.Helper()
	if r, ok := err.(*Rejection); ok { //nolint:errorlint // nothing wraps it
		checkRejection(t, r)
	} else if err != nil {
		t.Errorf("%v is not a rejection", err)
	}
}
