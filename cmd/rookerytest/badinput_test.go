package rookerytest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

const (
	scaleWeb   = "rookery.cmd.service.demo.web.scale"
	ensureWeb  = "rookery.cmd.service.demo.web.ensure"
	scaleType  = "io.rookery.service.v1.scale"
	underWeb   = "rookery.event.service.demo.web.command.rejected"
	underNone  = "rookery.event.cluster.command.rejected"
	anyMoment  = 30 * time.Second
	structured = "application/cloudevents+json"
)

// row is one message that a client sends, with the outcome that the test expects.
type row struct {
	name    string
	subject string // scaleWeb by default
	header  events.Header
	body    string
	code    events.Code
	field   string
	says    string
	under   string // underWeb by default
}

func (r row) message() events.Message {
	subject := r.subject
	if subject == "" {
		subject = scaleWeb
	}
	return events.Message{Subject: subject, Header: r.header, Body: []byte(r.body)}
}

// bodies are the rows whose bodies are not valid commands.
func bodies() []row {
	return []row{
		{name: "not JSON", body: "scale to five", code: events.CodeMalformed, says: `begins with "s"`},
		{name: "empty", code: events.CodeEmpty, says: "empty"},
		{name: "blank", body: " \n", code: events.CodeEmpty, says: "empty"},
		{name: "binary", body: "\x00\x01\xfe\xff", code: events.CodeMalformed, says: "UTF-8"},
		{name: "binary that is text", body: "\x00\x01\x02", code: events.CodeMalformed, says: `\x00`},
		{name: "invalid UTF-8", body: "{\"busy\":\"\xff\"}", code: events.CodeMalformed, says: "UTF-8"},
		{name: "null", body: "null", code: events.CodeMalformed, says: "not a JSON object"},
		{name: "a list", body: "[5]", code: events.CodeMalformed, says: "not a JSON object"},
		{name: "trailing bytes", body: `{"scale":5}{"scale":6}`, code: events.CodeMalformed, says: "byte 11"},
		{name: "unknown field", body: `{"scael":5}`, code: events.CodeUnknownField, field: "scael", says: `did you mean "scale"`},
		{
			name: "unknown field within", subject: ensureWeb, body: `{"image":"i","ports":[{"name":"a","prot":1}]}`,
			code: events.CodeUnknownField, field: "ports[0].prot", says: `did you mean "port"`,
		},
		{
			name: "a config of another namespace", subject: ensureWeb, body: `{"image":"i","configs":[{"name":"team.web-conf"}]}`,
			code: events.CodeInvalidName, field: "configs[0].name", says: "team.web-conf",
		},
		{name: "wrong type", body: `{"scale":"5"}`, code: events.CodeWrongType, field: "scale", says: "not a string"},
		{name: "null in a field", body: `{"scale":null}`, code: events.CodeWrongType, field: "scale", says: "null"},
		{
			name: "a number as a duration", subject: ensureWeb, body: `{"image":"i","stop_grace":10}`,
			code: events.CodeWrongType, field: "stop_grace", says: "a string, not a number",
		},
		{
			name: "an unknown preset of the policy", subject: "rookery.cmd.cluster.policy", body: `{"preset":"swarm"}`, under: underNone,
			code: events.CodeInvalidValue, field: "preset", says: `preset "swarm" is not known: known is materialize`,
		},
		{
			name: "a weight that is too great", subject: "rookery.cmd.cluster.policy", body: `{"same_node":1001}`, under: underNone,
			code: events.CodeOutOfRange, field: "same_node", says: "same_node 1001 is not between 0 and 1000",
		},
		{
			name: "a port of the host twice", subject: ensureWeb, code: events.CodeInvalidValue, field: "ports[1].host_port", says: "53/udp",
			body: `{"image":"i","ports":[{"name":"a","port":1,"host_port":53,"protocol":"udp"},{"name":"b","port":2,"host_port":53,"protocol":"udp"}]}`,
		},
		{
			name: "a deadline below what it is to wait for", subject: ensureWeb, code: events.CodeOutOfRange, field: "update.min_healthy", says: "4s",
			body: `{"image":"i","update":{"healthy_deadline":"4s","min_healthy":"5s"}}`,
		},
		{name: "missing field", body: `{}`, code: events.CodeMissingField, field: "scale", says: "scale is missing"},
		{name: "negative", body: `{"scale":-1}`, code: events.CodeOutOfRange, field: "scale", says: "-1"},
		{name: "1e99", body: `{"scale":1e99}`, code: events.CodeOutOfRange, field: "scale", says: "whole number"},
		{name: "2 to the power of 70", body: `{"scale":1180591620717411303424}`, code: events.CodeOutOfRange, field: "scale", says: "beyond"},
		{name: "fraction", body: `{"scale":3.5}`, code: events.CodeOutOfRange, field: "scale", says: "whole number"},
		{name: "more than there may be", body: `{"scale":10001}`, code: events.CodeOutOfRange, field: "scale", says: "10000"},
		{
			name: "deep nesting", body: `{"scale":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}",
			code: events.CodeTooDeep, field: "scale" + strings.Repeat("[0]", 15), says: "deeper than 16",
		},
		{name: "duplicate keys", body: `{"scale":5,"scale":6}`, code: events.CodeDuplicateKey, field: "scale", says: "twice"},
		{
			name: "duplicate keys within", subject: ensureWeb, body: `{"image":"i","env":{"A":"1","A":"2"}}`,
			code: events.CodeDuplicateKey, field: "env.A", says: "twice",
		},
		{name: "an unknown policy", body: `{"scale":5,"busy":"wait"}`, code: events.CodeInvalidValue, field: "busy", says: `"wait"`},
		{
			name: "control characters in a field's name", body: `{"\u001b[2J":5}`,
			code: events.CodeUnknownField, field: `\x1b[2J`, says: `\x1b`,
		},
	}
}

// subjects are the rows with subjects that take no command. The server stores even subjects with wildcards. For messages that it never
// stores see TestSubjectsThatAreNeverStored.
func subjects() []row {
	shape := func(name, subject, says string) row {
		return row{name: name, subject: subject, body: `{"scale":5}`, code: events.CodeUnknownSubject, field: "subject", says: says, under: underNone}
	}
	named := func(name, namespace, service, field, says string) row {
		return row{
			name: name, subject: "rookery.cmd.service." + namespace + "." + service + ".scale", body: `{"scale":5}`,
			code: events.CodeInvalidName, field: field, says: says, under: underNone,
		}
	}
	return []row{
		{
			name: "unknown verb", subject: "rookery.cmd.service.demo.web.scael", body: `{"scale":5}`,
			code: events.CodeUnknownVerb, field: "subject", says: `did you mean "scale"`,
		},
		{
			name: "a verb like no other", subject: "rookery.cmd.service.demo.web.explode", body: `{}`,
			code: events.CodeUnknownVerb, field: "subject", says: "ensure, scale, restart, snapshot, suspend, resume, rollback, promote, cancel, drop",
		},
		shape("unknown noun", "rookery.cmd.services.demo.web.scale", "services"),
		shape("no verb", "rookery.cmd.service.demo.web", "<verb>"),
		shape("one token", "rookery.cmd.x", `"rookery.cmd.x"`),
		shape("a dot in the name", "rookery.cmd.service.demo.web.v2.scale", "web.v2"),
		{
			name: "an actor", subject: "rookery.cmd.by.x.service.demo.web.scale", body: `{"scale":5}`, code: events.CodeUnknownSubject, field: "subject",
			says: "accounts are off",
		},
		shape("an actor alone", "rookery.cmd.by", `"rookery.cmd.by"`),
		{
			name: "an actor that is not a name", subject: "rookery.cmd.by.X.service.demo.web.scale", body: `{"scale":5}`, code: events.CodeInvalidName,
			field: "user", says: `"X"`, under: underNone,
		},
		named("uppercase namespace", "Demo", "web", "namespace", `"Demo"`),
		named("uppercase name", "demo", "WEB", "name", `"WEB"`),
		named("control characters", "demo", "w\x1b[2Jb", "name", `\x1b`),
		named("invalid UTF-8 in the name", "demo", "w\xffb", "name", `\xff`),
		named("underscore", "demo", "web_1", "name", "web_1"),
		named("a dash in front", "demo", "-web", "name", "-web"),
		named("a dash at the end", "demo-", "web", "namespace", "demo-"),
		named("64 characters", "demo", strings.Repeat("a", 64), "name", "1 to 63"),
		named("a star within", "demo", "w*b", "name", "w*b"),
		named("a star", "demo", "*", "name", `"*"`),
		named("a greater-than", ">", "web", "namespace", `">"`),
		shape("a greater-than at the end", "rookery.cmd.service.demo.>", "<verb>"),
	}
}

func binaryHeader(change map[string]string) events.Header {
	h := events.Header{
		"ce-specversion": {"1.0"}, "ce-id": {"bad"}, "ce-source": {"/test"}, "ce-type": {scaleType}, "Content-Type": {"application/json"},
	}
	for name, value := range change {
		h[name] = []string{value}
		if value == "" {
			delete(h, name)
		}
	}
	return h
}

func structuredBody(change map[string]string) string {
	members := map[string]string{
		"specversion": `"1.0"`, "id": `"bad"`, "source": `"/test"`, "type": `"` + scaleType + `"`, "data": `{"scale":5}`,
	}
	maps.Copy(members, change)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name] != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, members[name]))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// envelopes are the rows of CloudEvents, each wrong in both forms.
func envelopes() []row {
	var rows []row
	both := func(name, attribute, value string, code events.Code, says string) {
		quoted := ""
		if value != "" {
			quoted = fmt.Sprintf("%q", value)
		}
		rows = append(rows,
			row{
				name: "binary " + name, header: binaryHeader(map[string]string{"ce-" + attribute: value}), body: `{"scale":5}`,
				code: code, field: attribute, says: says,
			},
			row{
				name: "structured " + name, header: events.Header{"Content-Type": {structured}},
				body: structuredBody(map[string]string{attribute: quoted}), code: code, field: attribute, says: says,
			})
	}
	for _, attribute := range []string{"id", "source", "type", "specversion"} {
		both("without "+attribute, attribute, "", events.CodeMissingAttribute, "no "+attribute)
	}
	both("of another CloudEvents", "specversion", "2.0", events.CodeUnknownVersion, `"2.0"`)
	both("of another version of the type", "type", "io.rookery.service.v9.scale", events.CodeUnknownVersion, "version 9")
	both("of another verb's type", "type", "io.rookery.service.v1.drop", events.CodeInvalidAttribute, scaleType)
	both("of a foreign type", "type", "com.example.scale", events.CodeInvalidAttribute, "com.example.scale")
	both("with an invalid source", "source", ":", events.CodeInvalidAttribute, "source")
	return append(rows,
		row{
			name: "binary of another content", header: binaryHeader(map[string]string{"Content-Type": "text/plain"}), body: `{"scale":5}`,
			code: events.CodeInvalidAttribute, field: "datacontenttype", says: "text/plain",
		},
		row{
			name: "structured of another content", header: events.Header{"Content-Type": {structured}},
			body: structuredBody(map[string]string{"datacontenttype": `"text/plain"`}),
			code: events.CodeInvalidAttribute, field: "datacontenttype", says: "text/plain",
		},
		row{
			name: "a batch of events", header: events.Header{"Content-Type": {"application/cloudevents-batch+json"}}, body: "[]",
			code: events.CodeInvalidAttribute, field: "Content-Type", says: "batch",
		},
		row{
			name: "binary with bytes as id", header: binaryHeader(map[string]string{"ce-id": "%FF"}), body: `{"scale":5}`,
			code: events.CodeInvalidAttribute, field: "id", says: `\xff`,
		},
		row{
			name: "structured and blank", header: events.Header{"Content-Type": {structured}}, body: "  ",
			code: events.CodeEmpty, says: "empty",
		},
	)
}

// world is a cluster and all events of it since it started.
type world struct {
	*rookerytest.Cluster
	t      *testing.T
	events bus.Subscription
}

func start(t *testing.T) *world {
	t.Helper()
	cluster := startCluster(t, rookerytest.WithNodes(1))
	sub, err := cluster.Bus().Subscribe("rookery.event.>")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Stop)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1"}`)
	return &world{Cluster: cluster, t: t, events: sub}
}

func (w *world) publish(m events.Message) uint64 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), anyMoment)
	defer cancel()
	sequence, err := w.Bus().Publish(ctx, m)
	if err != nil {
		w.t.Fatalf("publish to %q: %v", m.Subject, err)
	}
	return sequence
}

// until returns the events up to and with the one on the subject. The events that a command led to come before its outcome.
func (w *world) until(subject string) []events.Message {
	w.t.Helper()
	deadline := time.NewTimer(anyMoment)
	defer deadline.Stop()
	var all []events.Message
	for {
		select {
		case m := <-w.events.Messages():
			all = append(all, m)
			if m.Subject == subject {
				return all
			}
		case <-deadline.C:
			w.t.Fatalf("gave up waiting for %s", subject)
		}
	}
}

// good sends a command that must succeed and returns all events until it has.
func (w *world) good() []events.Message {
	w.t.Helper()
	sequence := w.Publish("demo/good", "ensure", `{"image":"localhost/good:1"}`)
	return w.until(events.CommandOutcomeSubject(sequence, "succeeded"))
}

// outcomes returns the events of one kind about the command: those of the log, and those of the outcome subjects.
func outcomes[T events.Data](w *world, all []events.Message, sequence uint64) (logged, fates []events.Message, data T) {
	w.t.Helper()
	for _, m := range all {
		d, a, err := events.Decode(m)
		if err != nil {
			w.t.Fatalf("an event that does not read: %v", err)
		}
		if a.Cause.Correlation != sequence {
			continue
		}
		typed, ok := d.(T)
		if !ok {
			w.t.Errorf("command %d led to %s on %s too", sequence, d.Kind(), m.Subject)
			continue
		}
		data = typed
		if strings.HasPrefix(m.Subject, events.CommandOutcomeSubject(sequence, "")) {
			fates = append(fates, m)
		} else {
			logged = append(logged, m)
		}
	}
	return logged, fates, data
}

// rejected sends the message and compares its outcome with the row.
func (w *world) rejected(r row) events.CommandRejected {
	w.t.Helper()
	m := r.message()
	sequence := w.publish(m)
	logged, fates, got := outcomes[events.CommandRejected](w, w.good(), sequence)
	under := r.under
	if under == "" {
		under = underWeb
	}
	if len(logged) != 1 || logged[0].Subject != under {
		w.t.Errorf("%d rejections in the log, want one on %s: %+v", len(logged), under, logged)
	}
	if len(fates) != 1 || fates[0].Subject != events.CommandOutcomeSubject(sequence, "rejected") {
		w.t.Errorf("%d fates: %+v", len(fates), fates)
	}
	if got.Sequence != sequence || got.Code != r.code || got.Field != r.field || !strings.Contains(got.Reason, r.says) {
		w.t.Errorf("rejected as %+v, want %s of %q that says %q", got, r.code, r.field, r.says)
	}
	if !utf8.ValidString(got.Reason) || strings.ContainsFunc(got.Reason+got.Field, unicode.IsControl) {
		w.t.Errorf("a reason that cannot be shown: %q", got.Reason)
	}
	w.kept(sequence, m)
	return got
}

// kept fails the test unless the message still stands in ROOKERY_COMMANDS as it was sent.
func (w *world) kept(sequence uint64, want events.Message) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), anyMoment)
	defer cancel()
	reader, err := w.Bus().Read(ctx, bus.Commands, sequence)
	if err != nil {
		w.t.Fatal(err)
	}
	defer reader.Stop()
	select {
	case m := <-reader.Messages():
		if m.Sequence != sequence || m.Subject != want.Subject || string(m.Body) != string(want.Body) {
			w.t.Errorf("what is kept at %d is %d: %q %q", sequence, m.Sequence, m.Subject, m.Body)
		}
	case <-ctx.Done():
		w.t.Errorf("command %d is not kept", sequence)
	}
}

func TestBadInputIsRejectedWithAReason(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, r := range slices.Concat(bodies(), subjects(), envelopes()) {
		t.Run(r.name, func(t *testing.T) {
			here := *w
			here.t = t
			here.rejected(r)
		})
	}
}

// TestSubjectsThatAreNeverStored publishes messages that the server refuses: they have no outcome, and the sender gets an error.
func TestSubjectsThatAreNeverStored(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, r := range []struct {
		name, subject string
		want          error
	}{
		{"a space, refused by the client", "rookery.cmd.service.demo.w b.scale", nats.ErrBadSubject},
		{"a tab, refused by the client", "rookery.cmd.service.demo.w\tb.scale", nats.ErrBadSubject},
		{"a line break, refused by the client", "rookery.cmd.service.demo.w\r\nb.scale", nats.ErrBadSubject},
		{"an empty token, which no stream captures", "rookery.cmd.service.demo..scale", bus.ErrNoAnswer},
		{"an empty token at the end, which no stream captures", "rookery.cmd.", bus.ErrNoAnswer},
		{"no token, which no stream captures", "rookery.cmd", bus.ErrNoAnswer},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), anyMoment)
		sequence, err := w.Bus().Publish(ctx, events.Message{Subject: r.subject, Body: []byte(`{"scale":5}`)})
		cancel()
		if !errors.Is(err, r.want) {
			t.Errorf("%s: stored at %d, %v, want %v", r.name, sequence, err, r.want)
		}
	}
	w.good()
}

func TestOneByteTooManyIsRefusedByTheServer(t *testing.T) {
	t.Parallel()
	w := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), anyMoment)
	defer cancel()
	m := events.Message{Subject: scaleWeb, Body: []byte(strings.Repeat(" ", bus.MaxCommand+1))}
	if _, err := w.Bus().Publish(ctx, m); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("got %v, want that it is too large", err)
	}
	w.good()
}

func TestAnIDStandsForOneCommand(t *testing.T) {
	t.Parallel()
	w := start(t)
	send := row{header: binaryHeader(nil), body: `{"scale":2}`}
	first := w.publish(send.message())
	w.until(events.CommandOutcomeSubject(first, "succeeded"))
	other := row{
		header: binaryHeader(nil), body: `{"scale":4}`, code: events.CodeIDReused, field: "id", says: fmt.Sprintf("command %d", first),
	}
	w.rejected(other)
	w.Command("demo/web", "scale", `{"scale":3}`)
	w.good()

	again := w.publish(send.message())
	logged, fates, got := outcomes[events.CommandRepeated](w, w.good(), again)
	if len(logged) != 1 || logged[0].Subject != "rookery.event.service.demo.web.command.repeated" {
		t.Errorf("the repeat led to %+v", logged)
	}
	if len(fates) != 1 || fates[0].Subject != events.CommandOutcomeSubject(again, "repeated") {
		t.Errorf("the repeat's fates are %+v", fates)
	}
	if got != (events.CommandRepeated{Sequence: again, Of: first}) {
		t.Errorf("got %+v", got)
	}
	const web, others = 3, 1
	if n := count(w.Cluster, node.Running); n != web+others {
		t.Errorf("%d containers run, want %d: the repeat had an effect", n, web+others)
	}
	// The same event in the other form is the same command.
	twin := row{header: events.Header{"Content-Type": {structured}}, body: structuredBody(map[string]string{"data": `{"scale":2}`})}
	sequence := w.publish(twin.message())
	if logged, _, got := outcomes[events.CommandRepeated](w, w.good(), sequence); len(logged) != 1 || got.Of != first {
		t.Errorf("the structured twin led to %+v", logged)
	}
}

func TestWhatIsNotThereCannotBeChanged(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, verb := range []string{"scale", "drop"} {
		body := map[string]string{"scale": `{"scale":5}`, "drop": `{}`}[verb]
		w.rejected(row{
			subject: "rookery.cmd.service.demo.nowhere." + verb, body: body, code: events.CodeNotFound, field: "subject",
			says: "demo/nowhere", under: "rookery.event.service.demo.nowhere.command.rejected",
		})
	}
}

func TestABusyServiceNamesItsHolder(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, engine := range w.Nodes {
		engine.Refuse("localhost/missing:1", &node.Failure{Reason: events.OfflineImagePull, Message: "no such image"})
	}
	holder := w.Publish("demo/web", "ensure", `{"image":"localhost/missing:1"}`)
	w.until(events.CommandOutcomeSubject(holder, "accepted"))
	got := w.rejected(row{body: `{"scale":5}`, code: events.CodeBusy, field: "busy", says: fmt.Sprintf("ensure (command %d)", holder)})
	if got.Holder != holder {
		t.Errorf("the holder is %d, want %d", got.Holder, holder)
	}
	w.Command("demo/web", "drop", `{}`)
}
