package rookerytest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	coordinatorrunner "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// connected is how many users are connected while some of them are removed.
var connected = flag.Int("users", 150, "connect so many users, of which BenchmarkRevocation removes 100")

// BenchmarkRevocation removes one of many connected users after the other with `rookery user rm`, and measures from its start until the server has closed
// the connection of that user. All others stay connected.
func BenchmarkRevocation(b *testing.B) {
	const removed = 100
	users := max(*connected, removed)
	for b.Loop() {
		s := secureServer(b)
		closed, lost := make([]chan time.Time, users), make(chan string, 2*users)
		for i := range users {
			name := fmt.Sprintf("user-%d", i)
			s.does("user", "add", name, "--role", "viewer", "--namespace", "demo")
			conn := s.connect(name)
			closed[i] = make(chan time.Time, 1)
			conn.SetDisconnectErrHandler(func(*nats.Conn, error) {
				closed[i] <- time.Now()
				lost <- name
			})
		}
		var took []time.Duration
		for i := range removed {
			began := time.Now()
			s.does("user", "rm", fmt.Sprintf("user-%d", i))
			select {
			case at := <-closed[i]:
				took = append(took, at.Sub(began))
			case <-time.After(settlesWithin):
				b.Fatalf("the connection of user-%d stays open", i)
			}
		}
		if len(lost) != removed {
			b.Errorf("%d connections were closed, want %d", len(lost), removed)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "revocation-p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "revocation-p99-ms")
	}
}

// protection is what protects a bus, and a log. The log has the senders of commands for signatures and for accounts.
type protection struct{ senders, signatures, tls, encryption, accounts bool }

// BenchmarkSecurity measures decisions that are committed to a log that is protected in some way, reads of that log, and a fold of it as stored, beside the
// same without that: in the large rounds of a fleet, and in rounds of one command each.
func BenchmarkSecurity(b *testing.B) {
	keys := &secured{TB: b, folder: filepath.Join(b.TempDir(), "keys")}
	keys.does("secure", "init")
	shapes := map[string]struct{ services, scale int }{"Fleet": {10, 5000}, "Commands": {2000, 1}}
	for way, g := range map[string]struct{ ours, bare protection }{
		"Signatures": {ours: protection{senders: true, signatures: true}, bare: protection{senders: true}},
		"TLS":        {ours: protection{tls: true}},
		"Encryption": {ours: protection{encryption: true}},
		"Accounts":   {ours: protection{senders: true, accounts: true}},
		"All":        {ours: protection{senders: true, signatures: true, tls: true, encryption: true, accounts: true}},
	} {
		for name, shape := range shapes {
			b.Run(way+"/"+name, func(b *testing.B) {
				for b.Loop() {
					const times = 3
					var ours, bare durations
					for range times { // in turns: the machine may be busier in one of them
						keys.decidesAndFolds(b, g.ours, shape.services, shape.scale, &ours)
						keys.decidesAndFolds(b, g.bare, shape.services, shape.scale, &bare)
					}
					rates(b, "placements", shape.services*shape.scale, middle(ours.decided), middle(bare.decided))
					rates(b, "read-events", ours.count, middle(ours.read), middle(bare.read))
					rates(b, "folded-events", ours.count, middle(ours.folded), middle(bare.folded))
				}
			})
		}
	}
}

// durations are how long it took to decide and commit, to read the log and to fold it, and how long the log is.
type durations struct {
	decided, read, folded []time.Duration
	count                 int
}

// decidesAndFolds places instances in a log of its own, and reads and folds the whole log.
func (s *secured) decidesAndFolds(b *testing.B, g protection, services, scale int, times *durations) {
	b.Helper()
	const nodes = 100
	client, end := s.guards(b, g)
	defer end()
	d := newDecider(nodes)
	d.accounts = g.senders
	if g.signatures {
		d.signer = events.SignerOf([32]byte{1})
	}
	d.append = func(round coordinatorrunner.Round) {
		if _, err := client.Append(b.Context(), bus.Log, d.cluster.Sequence, round.Messages); err != nil {
			b.Fatal(err)
		}
	}
	d.found(b)
	began := time.Now()
	for i := range services {
		d.place(b, serviceName(i), scale)
	}
	times.decided = append(times.decided, time.Since(began))
	var log []events.Message
	times.read = append(times.read, read(b, client, d.cluster.Sequence, func(m events.Message) { log = append(log, m) }))
	began = time.Now()
	fold := projections.NewFold()
	fold.Stored = true
	for _, m := range log {
		if _, err := fold.Take(m); err != nil {
			b.Fatal(err)
		}
	}
	if err := fold.Verify(); err != nil {
		b.Fatal(err)
	}
	times.folded = append(times.folded, time.Since(began))
	if fold.Cluster.Chain != d.cluster.Chain || fold.Cluster.Key != d.signer.Key() {
		b.Fatal("the fold is another state than the one that was decided")
	}
	times.count = int(fold.Last())
}

// guards starts a server that has of the configuration of rookery secure init what protects it in this way, and connects to it.
func (s *secured) guards(b *testing.B, g protection) (client *bus.JetStream, end func()) {
	b.Helper()
	folder := filepath.Join(s.folder, "servers/nats-1")
	whole, err := os.ReadFile(filepath.Join(folder, "nats.conf"))
	if err != nil {
		b.Fatal(err)
	}
	text := string(whole)
	change := func(from, to, by string) {
		before, rest, found := strings.Cut(text, from)
		_, after, ends := strings.Cut(rest, to)
		if !found || !ends {
			b.Fatalf("the configuration has no %q before %q:\n%s", from, to, whole)
		}
		text = before + by + after
	}
	change("\nlisten: ", "\n", "\nlisten: \"127.0.0.1:-1\"\n")
	change("store_dir: ", "\n", fmt.Sprintf("store_dir: %q\n", b.TempDir()))
	scheme := "nats"
	var options []nats.Option
	if g.tls {
		scheme, options = "tls", append(options, nats.RootCAs(filepath.Join(s.folder, secure.CA)))
	} else {
		change("\ntls {", "\n}\n", "\n")
	}
	if !g.encryption {
		change("  cipher: ", "encryption.conf\"\n", "")
	}
	if g.accounts {
		options = append(options, s.identity(secure.Coordinator)...)
	} else {
		change("\noperator: ", "\nresolver_preload", "\n# ")
		text, _, _ = strings.Cut(text, "\n# :")
	}
	const config = "guarded.conf"
	if err := os.WriteFile(filepath.Join(folder, config), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	path, err := natsServer()
	if err != nil {
		b.Fatal(err)
	}
	server := startProgramIn(b, "/usr/bin/env", nil, "--chdir", folder, path, "--config", config)
	if !ready(server) {
		b.Fatalf("the NATS server did not start:\n%s", server.output)
	}
	conn, err := nats.Connect(scheme+"://"+listening.FindStringSubmatch(server.output.String())[1], options...)
	if err != nil {
		b.Fatal(err)
	}
	if client, err = bus.New(conn); err == nil {
		err = client.Init(b.Context(), 1)
	}
	if err != nil {
		b.Fatal(err)
	}
	return client, func() {
		conn.Close()
		server.kill()
	}
}
