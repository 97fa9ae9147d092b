package secure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// attack is something that a user tries and must not do. It works on a server without accounts.
type attack struct {
	by   secure.User
	what string
	// try does it, and reports whether it worked.
	try func(t *testing.T, attacker, victim *nats.Conn) bool
	// works says why it works with accounts, too: a limit that the guide of security names. "" for one that does not work.
	works string
}

var (
	edgeA = secure.User{Name: "edge-a", Role: secure.Node}
	vera  = secure.User{Name: "vera", Role: "viewer"}
	ann   = secure.User{Name: "ann", Role: "deployer", Namespaces: []string{"demo"}}
	ed    = secure.User{Name: "ed", Role: "exec", Namespaces: []string{"demo"}}
)

// told reports whether the subscription has a message, once the server has delivered all that was sent before.
func told(t *testing.T, heard *nats.Subscription, sender, listener *nats.Conn) bool {
	t.Helper()
	for _, conn := range []*nats.Conn{sender, listener} {
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	pending, _, err := heard.Pending()
	return err == nil && pending > 0 // the subscription of one who may not listen is gone
}

func listen(t *testing.T, conn *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	heard, err := conn.SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = heard.Unsubscribe() }) // the server may have ended it
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return heard
}

// says is an attack in which the user says something that others believe.
func says(by secure.User, subject string) attack {
	return attack{by: by, what: "publishes to " + subject, try: func(t *testing.T, attacker, victim *nats.Conn) bool {
		heard := listen(t, victim, subject)
		if err := attacker.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		return told(t, heard, attacker, victim)
	}}
}

// hears is an attack in which the user listens to what others say on a subject.
func hears(by secure.User, filter, subject string) attack {
	return attack{by: by, what: "listens to " + filter, try: func(t *testing.T, attacker, victim *nats.Conn) bool {
		heard := listen(t, attacker, filter)
		if err := victim.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		return told(t, heard, victim, attacker)
	}}
}

// asks is an attack in which the user asks a question, and its answer is of use.
func asks(by secure.User, what, subject, body string) attack {
	return attack{by: by, what: what, try: func(t *testing.T, attacker, _ *nats.Conn) bool {
		inbox := attacker.NewInbox()
		answers := listen(t, attacker, inbox)
		if err := attacker.PublishRequest(subject, inbox, []byte(body)); err != nil {
			t.Fatal(err)
		}
		denied := make(chan struct{}, 1)
		attacker.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) { denied <- struct{}{} })
		type got struct {
			m   *nats.Msg
			err error
		}
		next := make(chan got, 1)
		go func() {
			m, err := answers.NextMsg(time.Minute)
			next <- got{m, err}
		}()
		select {
		case <-denied:
			return false
		case g := <-next:
			return g.err == nil && g.m.Header.Get("Status") == "" && !strings.Contains(string(g.m.Data), `"error"`)
		}
	}}
}

// though marks attacks that work with accounts, too.
func though(works string, all ...attack) []attack {
	for i := range all {
		all[i].works = works
	}
	return all
}

// ofNode are attacks by one node on others, and on the cluster.
func ofNode() (all []attack) {
	const b = "edge-b"
	for _, what := range []string{"hello", "list", "engine", "instance.demo.web.0.1", "instance.demo.web.1.7", "x"} {
		all = append(all, says(edgeA, events.StatusRoot+"."+b+"."+what))
	}
	for _, subject := range under(events.CommandRoot, "node.edge-b.pause", "node.edge-b.resume", "node.edge-b.drain", "node.edge-b.forget", "node.edge-b.update",
		"node.edge-a.resume", "service.demo.web.ensure", "service.demo.web.drop", "group.demo.shop.ensure", "cluster.policy", "cluster.nodes", "cluster.rebalance",
		"cluster.finish-upgrade", "by.edge-a.node.edge-b.drain", "by.edge-a.node.edge-a.resume", "by.edge-a.cluster.policy", "by.operator.cluster.policy",
		"by.ann.service.demo.web.drop") {
		all = append(all, says(edgeA, subject))
	}
	for _, subject := range []string{
		events.HeartbeatSubject(b), events.LogRoot + ".service.demo.web.scaled", events.LogRoot + ".round", events.OrdersRoot + ".edge-b.demo.web.0.1",
		events.OrdersRoot + ".edge-a.demo.web.0.1", events.OrdersEpochSubject, events.OrderRoot + ".edge-b.demo.web.0.1", events.EventRoot + ".node.edge-b.lost",
		events.EventRoot + ".command.7.succeeded", events.ViewRoot + ".endpoints.demo.web", events.APIRoot + ".state", events.APIRoot + ".logs", events.APIRoot + ".exec",
		events.TrimSubject, events.RunningSubject, events.NodeRoot + ".edge-b.exec.demo.web.0.1", events.NodeRoot + ".edge-b.logs.demo.web.0.1",
		events.NodeRoot + ".edge-b.actual", "_INBOX.edge-b.1", "_INBOX.ann.1", "_INBOX.1", "$KV.rookery_lease.leader", "$KV.rookery_configs.demo.words",
		"$KV.rookery_endpoints.demo.web", "$KV.rookery_services.demo.web", "$O.rookery_snapshots.M.x",
	} {
		all = append(all, says(edgeA, subject))
	}
	for filter, subject := range map[string]string{
		events.OrderRoot + ".edge-b.>": events.OrderRoot + ".edge-b.demo.web.0.1", events.OrderRoot + ".>": events.OrderRoot + ".edge-b.demo.web.0.2",
		events.NodeRoot + ".edge-b.>": events.NodeRoot + ".edge-b.exec.demo.web.0.1", events.NodeRoot + ".*.exec.>": events.NodeRoot + ".edge-b.exec.demo.web.0.1",
		events.StatusRoot + ".edge-b.>": events.StatusRoot + ".edge-b.hello", events.HeartbeatRoot + ".edge-b": events.HeartbeatRoot + ".edge-b",
		events.HeartbeatRoot + ".>": events.HeartbeatRoot + ".edge-b", events.CommandRoot + ".>": events.CommandRoot + ".cluster.policy",
		events.LogRoot + ".>": events.LogRoot + ".round", events.EventRoot + ".>": events.EventRoot + ".node.edge-b.lost",
		events.APIRoot + ".>": events.APIRoot + ".state", events.APIRoot + ".addresses": events.APIRoot + ".addresses", events.SessionRoot + ".>": events.SessionRoot + ".ann.1",
		"_INBOX.edge-b.>": "_INBOX.edge-b.1", "_INBOX.>": "_INBOX.ann.1", "_INBOX.*.1": "_INBOX.ann.1", "$KV.>": "$KV.rookery_configs.demo.words",
		"$KV.rookery_output.>": "$KV.rookery_output.x", "$O.>": "$O.rookery_volumes.C.x", "rookery.>": "rookery.trim", ">": "_INBOX.ann.2",
		events.TrimSubject: events.TrimSubject, events.ViewRoot + ".>": events.ViewRoot + ".endpoints.demo.web",
	} {
		all = append(all, hears(edgeA, filter, subject))
	}
	return slices.Concat(all,
		though("nodes read orders, and all configs, by the interfaces of NATS",
			asks(edgeA, "reads the orders of another node", "$JS.API.DIRECT.GET.ROOKERY_ORDERS", `{"last_by_subj":"rookery.orders.edge-b.demo.web.0.1"}`),
			asks(edgeA, "reads a config of any namespace", "$JS.API.STREAM.MSG.GET.KV_rookery_configs", `{"last_by_subj":"$KV.rookery_configs.secret.words"}`)),
		[]attack{
			asks(edgeA, "reads the log", "$JS.API.DIRECT.GET.ROOKERY_LOG", `{"seq":1}`),
			asks(edgeA, "reads commands", "$JS.API.STREAM.MSG.GET.ROOKERY_COMMANDS", `{"seq":1}`),
			asks(edgeA, "makes a consumer of the log that publishes a command", "$JS.API.CONSUMER.CREATE.ROOKERY_LOG.evil",
				`{"stream_name":"ROOKERY_LOG","config":{"name":"evil","deliver_subject":"rookery.cmd.by.operator.cluster.policy","ack_policy":"none"}}`),
			asks(edgeA, "makes a stream that takes answers", "$JS.API.STREAM.CREATE.EVIL", `{"name":"EVIL","subjects":["evil.>"]}`),
			asks(edgeA, "removes all orders", "$JS.API.STREAM.PURGE.ROOKERY_ORDERS", ``),
		},
		though("nodes keep the output of containers, and the contents of volumes, by the interfaces of NATS",
			says(edgeA, "$KV.rookery_output.x"), asks(edgeA, "writes among the contents of volumes", "$O.rookery_volumes.C.x", "x"),
			asks(edgeA, "makes a consumer of volumes that publishes a command", "$JS.API.CONSUMER.CREATE.OBJ_rookery_volumes.evil",
				`{"stream_name":"OBJ_rookery_volumes","config":{"name":"evil","deliver_subject":"rookery.cmd.by.operator.cluster.policy","ack_policy":"none"}}`),
			asks(edgeA, "removes the volumes of all", "$JS.API.STREAM.PURGE.OBJ_rookery_volumes", ``)),
		though("metrics have no node in their subject", says(edgeA, events.MetricRoot+".secret.web.0")),
	)
}

// ofClients are attacks by viewers, deployers and exec.
func ofClients() (all []attack) {
	for _, by := range []secure.User{vera, ann, ed} {
		for _, subject := range []string{
			events.CommandRoot + ".service.demo.web.drop", events.CommandRoot + ".by." + by.Name + ".service.secret.web.drop", events.CommandRoot + ".by.operator.cluster.policy",
			events.CommandRoot + ".by." + by.Name + ".cluster.policy", events.CommandRoot + ".by." + by.Name + ".node.edge-b.drain", events.StatusRoot + ".edge-b.hello",
			events.LogRoot + ".round", events.OrdersRoot + ".edge-b.demo.web.0.1", events.HeartbeatRoot + ".edge-b", events.EventRoot + ".node.edge-b.lost",
			events.NodeRoot + ".edge-b.exec.secret.web.0.1", events.NodeRoot + ".edge-b.logs.secret.web.0.1", events.APIRoot + ".logs", events.APIRoot + ".exec",
			events.TrimSubject, "_INBOX.operator.1", "$KV.rookery_configs.demo.words", "$KV.rookery_lease.leader",
		} {
			all = append(all, says(by, subject))
		}
		for filter, subject := range map[string]string{
			"_INBOX.>": "_INBOX.operator.1", events.SessionRoot + ".>": events.SessionRoot + ".operator.1", events.APIRoot + ".state": events.APIRoot + ".state",
			events.CommandRoot + ".>": events.CommandRoot + ".cluster.policy", ">": "_INBOX.operator.2", "$KV.>": "$KV.rookery_configs.secret.words",
			events.NodeRoot + ".edge-b.>": events.NodeRoot + ".edge-b.exec.secret.web.0.1",
		} {
			all = append(all, hears(by, filter, subject))
		}
		all = append(all, asks(by, "reads a config", "$JS.API.STREAM.MSG.GET.KV_rookery_configs", `{"last_by_subj":"$KV.rookery_configs.secret.words"}`),
			asks(by, "removes commands", "$JS.API.STREAM.PURGE.ROOKERY_COMMANDS", ``))
	}
	return append(all, attack{by: ann, what: "has the answer to a command written into a config", try: func(t *testing.T, attacker, victim *nats.Conn) bool {
		const config = "$KV.rookery_configs.demo.evil"
		heard := listen(t, victim, config)
		for _, subject := range []string{events.CommandRoot + ".by.ann.service.demo.web.scale", events.CommandRoot + ".service.demo.web.scale"} {
			if err := attacker.PublishRequest(subject, config, []byte(`{"scale":2}`)); err != nil {
				t.Fatal(err)
			}
		}
		stored := listen(t, victim, victim.NewInbox())
		for seen := 0; seen == 0; { // until the server has stored a command, and so answered
			if err := victim.PublishRequest("$JS.API.STREAM.MSG.GET.ROOKERY_COMMANDS", stored.Subject, []byte(`{"next_by_subj":"rookery.cmd.>","seq":2}`)); err != nil {
				t.Fatal(err)
			}
			m, err := stored.NextMsg(time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(m.Data), `"error"`) {
				seen++
			}
		}
		return told(t, heard, attacker, victim)
	}})
}

// stocked makes the streams, and what attackers look for in them.
func (s *served) stocked(victim *nats.Conn) {
	s.Helper()
	b, err := bus.New(victim)
	if err != nil {
		s.Fatal(err)
	}
	if err := b.Init(s.Context(), 1); err != nil {
		s.Fatal(err)
	}
	if err := b.Objects(bus.ObjectsVolumes).Put(s.Context(), "kept", strings.NewReader("x")); err != nil {
		s.Fatal(err)
	}
	for _, subject := range []string{"$KV.rookery_configs.secret.words", events.OrdersRoot + ".edge-b.demo.web.0.1", events.LogRoot + ".round", events.CommandRoot + ".x"} {
		if _, err := b.Publish(s.Context(), events.Message{Subject: subject, Body: []byte("{}")}); err != nil {
			s.Fatal(err)
		}
	}
}

// TestAttacksDoNotWork tries attacks on a server without accounts, where each works, and on one with accounts, where only those of known limits do.
func TestAttacksDoNotWork(t *testing.T) {
	all := slices.Concat(ofNode(), ofClients())
	open, closed := serveOpen(t), serve(t)
	worked := 0
	for _, s := range []*served{open, closed} {
		victim := s.connect(secure.User{Name: "victim", Role: secure.Coordinator})
		s.stocked(victim)
		attackers := map[string]*nats.Conn{}
		for _, a := range all {
			if attackers[a.by.Name] == nil {
				attackers[a.by.Name] = s.connect(a.by)
			}
			works := a.try(t, attackers[a.by.Name], victim)
			switch {
			case s == open && !works:
				t.Errorf("without accounts this does not work: a %s %s", a.by.Role, a.what)
			case s == closed && works && a.works == "":
				t.Errorf("a %s %s", a.by.Role, a.what)
			case s == closed && !works && a.works != "":
				t.Errorf("this does not work any more, although %s: a %s %s", a.works, a.by.Role, a.what)
			}
			if s == closed && works {
				worked++
			}
		}
	}
	fmt.Printf("attacks %d, worked %d\n", len(all), worked)
}
