package secure_test

import (
	"fmt"
	"slices"
	"strconv"
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
	try func(t *testing.T, by *attacker, victims []*nats.Conn) bool
	// works says why it works with accounts, too: a limit that the guide of security names. "" for one that does not work.
	works string
}

// attacker is the connection of one that attacks.
type attacker struct {
	*nats.Conn
	denied chan error // what the server did not allow
}

// accounts are those with users, in the order of their victims.
var accounts = []string{secure.Core, secure.Clients, secure.Nodes}

// victims are connections that may hear and say everything, one of each account.
func (s *served) victims() []*nats.Conn {
	if s.files == nil {
		return []*nats.Conn{s.connectsAll("")}
	}
	var all []*nats.Conn
	for _, account := range accounts {
		all = append(all, s.connectsAll(account))
	}
	return all
}

func (s *served) attacks(user secure.User) *attacker {
	const most = 1000
	a := &attacker{denied: make(chan error, most)}
	a.Conn = s.connect(user, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.denied <- err }))
	return a
}

var (
	edgeA = secure.User{Name: "edge-a", Role: secure.Node}
	tess  = secure.User{Name: "t-one", Role: secure.Joiner}
	vera  = secure.User{Name: "vera", Role: "viewer", Namespaces: []string{"demo"}}
	ann   = secure.User{Name: "ann", Role: "deployer", Namespaces: []string{"demo"}}
	ed    = secure.User{Name: "ed", Role: "exec", Namespaces: []string{"demo"}}
)

func flush(t *testing.T, conns ...*nats.Conn) {
	t.Helper()
	for _, conn := range conns {
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// has reports whether the subscription has a message, once the server has delivered all that was sent before.
func has(heard *nats.Subscription) bool {
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
	flush(t, conn)
	return heard
}

func publish(t *testing.T, conn *nats.Conn, subject, reply, body string) {
	t.Helper()
	if err := conn.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// says is an attack in which the user says something that others believe.
func says(by secure.User, subject string) attack {
	return attack{by: by, what: "publishes to " + subject, try: func(t *testing.T, by *attacker, victims []*nats.Conn) bool {
		return heardBy(t, victims, subject, func() { publish(t, by.Conn, subject, "", "{}") }, by.Conn)
	}}
}

// heardBy reports whether one of the victims hears something on the subject due to what the attacker does.
func heardBy(t *testing.T, victims []*nats.Conn, subject string, do func(), by *nats.Conn) bool {
	t.Helper()
	all := make([]*nats.Subscription, len(victims))
	for i, v := range victims {
		all[i] = listen(t, v, subject)
	}
	do()
	flush(t, append([]*nats.Conn{by}, victims...)...)
	return slices.ContainsFunc(all, has)
}

// hears is an attack in which the user listens to what others say on a subject.
func hears(by secure.User, filter, subject string) attack {
	return attack{by: by, what: "listens to " + filter, try: func(t *testing.T, by *attacker, victims []*nats.Conn) bool {
		heard := listen(t, by.Conn, filter)
		for _, v := range victims {
			publish(t, v, subject, "", "{}")
			flush(t, v)
		}
		flush(t, by.Conn)
		return has(heard)
	}}
}

// asks is an attack in which the user asks a question, and its answer is of use. The server either answers or does not allow it.
func asks(by secure.User, what, subject, body string) attack {
	return attack{by: by, what: what, try: func(t *testing.T, by *attacker, _ []*nats.Conn) bool {
		inbox := by.NewInbox()
		answers := make(chan *nats.Msg, 1)
		heard, err := by.ChanSubscribe(inbox, answers)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = heard.Unsubscribe() }() // fails only if the connection has ended
		publish(t, by.Conn, subject, inbox, body)
		for {
			select {
			case err := <-by.denied:
				if strings.Contains(err.Error(), strconv.Quote(subject)) {
					return false
				}
			case m := <-answers:
				return m.Header.Get("Status") == "" && !strings.Contains(string(m.Data), `"error"`)
			case <-time.After(time.Minute):
				t.Fatalf("the server neither answers on %s nor denies it", subject)
			}
		}
	}}
}

// replies is an attack in which the user asks so that the server publishes the answer where the user may not, in an account.
func replies(user secure.User, what, account, to string, questions ...string) attack {
	return attack{by: user, what: what, try: func(t *testing.T, by *attacker, victims []*nats.Conn) bool {
		core, listens := victims[0], victims[min(slices.Index(accounts, account), len(victims)-1)]
		heard := listen(t, listens, to)
		for _, q := range questions {
			if strings.HasPrefix(q, events.APIRoot) { // no coordinator runs
				echo, err := core.Subscribe(q, func(m *nats.Msg) { _ = m.Respond([]byte("{}")) }) // who asked waits for it
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = echo.Unsubscribe() }() // fails only if the connection has ended
				flush(t, core)
			}
			const body = `{"seq":1}`
			publish(t, by.Conn, q, to, body)
			asks(user, what, q, body).try(t, by, victims) // answers come in the order of questions: the one before has come then
		}
		flush(t, core, listens)
		return has(heard)
	}}
}

// borrows is an attack in which the user says something to itself that asks for an answer, so that it may answer there.
func borrows(by secure.User, subject string) attack {
	return attack{by: by, what: "publishes as an answer to itself to " + subject, try: func(t *testing.T, by *attacker, victims []*nats.Conn) bool {
		own := events.SessionRoot + ".edge-a.edge-a.1"
		heard := listen(t, by.Conn, own)
		return heardBy(t, victims, subject, func() {
			publish(t, by.Conn, own, subject, "{}")
			m, err := heard.NextMsg(time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			publish(t, by.Conn, m.Reply, "", "{}")
		}, by.Conn)
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
		[]attack{
			asks(edgeA, "reads the orders of another node", "$JS.API.DIRECT.GET.ROOKERY_ORDERS", `{"last_by_subj":"rookery.orders.edge-b.demo.web.0.1"}`),
			asks(edgeA, "reads a config of any namespace", "$JS.API.STREAM.MSG.GET.KV_rookery_configs", `{"last_by_subj":"$KV.rookery_configs.secret.words"}`),
			asks(edgeA, "reads the log", "$JS.API.DIRECT.GET.ROOKERY_LOG", `{"seq":1}`),
			asks(edgeA, "reads commands", "$JS.API.STREAM.MSG.GET.ROOKERY_COMMANDS", `{"seq":1}`),
			asks(edgeA, "makes a consumer of the log that publishes a command", "$JS.API.CONSUMER.CREATE.ROOKERY_LOG.evil",
				`{"stream_name":"ROOKERY_LOG","config":{"name":"evil","deliver_subject":"rookery.cmd.by.operator.cluster.policy","ack_policy":"none"}}`),
			asks(edgeA, "makes a stream that takes answers", "$JS.API.STREAM.CREATE.EVIL", `{"name":"EVIL","subjects":["evil.>"]}`),
			asks(edgeA, "removes all orders", "$JS.API.STREAM.PURGE.ROOKERY_ORDERS", ``),
			says(edgeA, "$KV.rookery_output.x"), asks(edgeA, "writes among the contents of volumes", "$O.rookery_volumes.C.x", "x"),
			asks(edgeA, "makes a consumer of volumes that publishes a command", "$JS.API.CONSUMER.CREATE.OBJ_rookery_volumes.evil",
				`{"stream_name":"OBJ_rookery_volumes","config":{"name":"evil","deliver_subject":"rookery.cmd.by.operator.cluster.policy","ack_policy":"none"}}`),
			asks(edgeA, "removes the volumes of all", "$JS.API.STREAM.PURGE.OBJ_rookery_volumes", ``),
			replies(edgeA, "has what it stored published as a command", secure.Core, events.CommandRoot+".by.operator.cluster.policy",
				"$JS.API.DIRECT.GET.OBJ_rookery_volumes"),
			replies(edgeA, "has the answer to a status taken for a command", secure.Core, events.CommandRoot+".by.operator.cluster.policy",
				events.StatusRoot+".edge-a.hello"),
			replies(edgeA, "has the answer to a status written into a config", secure.Core, "$KV.rookery_configs.demo.evil", events.StatusRoot+".edge-a.hello"),
			says(edgeA, events.SessionRoot+".ann.edge-b.1"), says(edgeA, events.SessionRoot+".edge-b.orders.1"), says(edgeA, events.SessionRoot+".ann.1"),
			says(edgeA, events.SupplyRoot+".orders.edge-b"), says(edgeA, events.SupplyRoot+".config.edge-b"), says(edgeA, events.SupplyRoot+".keep-output.edge-b"),
			says(edgeA, events.SupplyRoot+".store-volume.edge-b.1"),
			borrows(edgeA, events.SupplyRoot+".config.edge-b"), borrows(edgeA, events.OrderRoot+".edge-b.demo.web.0.1"), borrows(edgeA, events.StatusRoot+".edge-b.hello"),
			borrows(edgeA, events.NodeRoot+".edge-b.exec.demo.web.0.1"), borrows(edgeA, events.CommandRoot+".by.operator.cluster.policy"),
			borrows(edgeA, events.SessionRoot+".ann.edge-b.1"), borrows(edgeA, events.HeartbeatRoot+".edge-b"),
			hears(edgeA, events.SupplyRoot+".>", events.SupplyRoot+".orders.edge-b"), hears(edgeA, events.SessionRoot+".edge-b.>", events.SessionRoot+".edge-b.orders.1"),
			says(edgeA, events.JoinRoot+".edge-b"), says(edgeA, events.JoinRoot+".t-one"), hears(edgeA, events.JoinRoot+".>", events.JoinRoot+".edge-b"),
			says(edgeA, events.CommandRoot+".node.edge-b.admit"), says(edgeA, events.CommandRoot+".node.edge-b.revoke"),
			says(edgeA, events.CommandRoot+".cluster.create-token"),
			says(edgeA, events.MetricRoot+".secret.web.0"), says(edgeA, events.MetricRoot+".secret.web.0.edge-b"),
		},
		though("an answer goes where a node asks, among nodes", replies(edgeA, "has the answer to a status heard where another node hears orders", secure.Nodes,
			events.OrderRoot+".edge-b.demo.web.0.1", events.StatusRoot+".edge-a.hello")),
	)
}

// ofJoiners are attacks with a token, before its node has joined.
func ofJoiners() (all []attack) {
	for _, subject := range []string{
		events.JoinRoot + ".t-two", events.JoinRoot + ".edge-b", events.StatusRoot + ".t-one.hello", events.StatusRoot + ".edge-b.hello", events.HeartbeatRoot + ".t-one",
		events.SupplyRoot + ".orders.t-one", events.SupplyRoot + ".config.edge-b", events.CommandRoot + ".node.t-one.admit", events.CommandRoot + ".by.t-one.node.t-one.admit",
		events.CommandRoot + ".by.operator.node.t-one.admit", events.CommandRoot + ".cluster.create-token", events.MetricRoot + ".demo.web.0.t-one",
		events.SessionRoot + ".ann.t-one.1", events.NodeRoot + ".edge-b.actual", events.LogRoot + ".node.t-one.admitted", events.APIRoot + ".by.t-one._all.nodes",
		events.TrimSubject, "_INBOX.edge-b.1", "$KV.rookery_lease.leader", "$JS.API.STREAM.INFO.ROOKERY_LOG",
	} {
		all = append(all, says(tess, subject))
	}
	for filter, subject := range map[string]string{
		events.JoinRoot + ".>": events.JoinRoot + ".t-two", events.OrderRoot + ".t-one.>": events.OrderRoot + ".t-one.demo.web.0.1", events.NodeRoot + ".>": events.NodeRoot + ".edge-b.actual",
		"_INBOX.>": "_INBOX.edge-b.1", events.SessionRoot + ".>": events.SessionRoot + ".edge-b.orders.1", ">": events.JoinRoot + ".t-three",
	} {
		all = append(all, hears(tess, filter, subject))
	}
	return all
}

// ofClients are attacks by viewers, deployers and exec.
func ofClients() (all []attack) {
	for _, by := range []secure.User{vera, ann, ed} {
		for _, subject := range []string{
			events.CommandRoot + ".service.demo.web.drop", events.CommandRoot + ".by." + by.Name + ".service.secret.web.drop", events.CommandRoot + ".by.operator.cluster.policy",
			events.CommandRoot + ".by." + by.Name + ".cluster.policy", events.CommandRoot + ".by." + by.Name + ".node.edge-b.drain", events.StatusRoot + ".edge-b.hello",
			events.LogRoot + ".round", events.OrdersRoot + ".edge-b.demo.web.0.1", events.HeartbeatRoot + ".edge-b", events.EventRoot + ".node.edge-b.lost",
			events.NodeRoot + ".edge-b.exec.secret.web.0.1", events.NodeRoot + ".edge-b.logs.secret.web.0.1", events.NodeRoot + ".edge-b.exec.demo.web.0.1",
			events.NodeRoot + ".edge-b.exec.by.operator.demo.web.0.1", events.NodeRoot + ".edge-b.exec.by." + by.Name + ".secret.web.0.1", events.APIRoot + ".logs", events.APIRoot + ".exec",
			events.TrimSubject, "_INBOX.operator.1", "$KV.rookery_configs.demo.words", "$KV.rookery_lease.leader", events.FateSubject("operator", 7),
			events.QuestionSubject("services"), events.QuestionBy(by.Name, "secret", "services"), events.QuestionBy(by.Name, "secret", "plan"),
			events.QuestionBy(by.Name, events.AllNamespaces, "services"), events.QuestionBy("operator", events.AllNamespaces, "state"),
			events.QuestionBy("operator", "demo", "services"), events.SupplyRoot + ".config.edge-b", events.MetricRoot + ".demo.web.0.edge-b",
		} {
			all = append(all, says(by, subject))
		}
		for filter, subject := range map[string]string{
			"_INBOX.>": "_INBOX.operator.1", events.SessionRoot + ".>": events.SessionRoot + ".operator.1", events.APIRoot + ".state": events.APIRoot + ".state",
			events.CommandRoot + ".>": events.CommandRoot + ".cluster.policy", ">": "_INBOX.operator.2", "$KV.>": "$KV.rookery_configs.secret.words",
			events.NodeRoot + ".edge-b.>": events.NodeRoot + ".edge-b.exec.secret.web.0.1", events.EventRoot + ".>": events.EventRoot + ".service.secret.web.scaled",
			events.EventRoot + ".service.secret.>": events.EventRoot + ".service.secret.web.scaled", events.EventRoot + ".*.demo.>": events.EventRoot + ".node.demo.stray.found",
			events.EventRoot + ".command.>": events.EventRoot + ".command.7.accepted", events.ViewRoot + ".>": events.ViewRoot + ".services.secret.web",
			events.ViewRoot + ".services.secret.>": events.ViewRoot + ".services.secret.web", events.FateRoot + ".>": events.FateSubject("operator", 7),
			events.OrderRoot + ".>": events.OrderRoot + ".edge-b.demo.web.0.1", events.MetricRoot + ".>": events.MetricRoot + ".secret.web.0.edge-b",
		} {
			all = append(all, hears(by, filter, subject))
		}
		all = append(all, asks(by, "reads a config", "$JS.API.STREAM.MSG.GET.KV_rookery_configs", `{"last_by_subj":"$KV.rookery_configs.secret.words"}`),
			asks(by, "removes commands", "$JS.API.STREAM.PURGE.ROOKERY_COMMANDS", ``))
	}
	return append(all, slices.Concat(though("an answer goes where a client asks, among clients", replies(vera, "has the answer to a question taken for a view", secure.Clients,
		events.ViewRoot+".services.demo.web", events.QuestionBy("vera", "demo", "state"))), []attack{
		replies(ann, "has the answer to a command written into a config", secure.Core, "$KV.rookery_configs.demo.evil",
			events.CommandRoot+".by.ann.service.demo.web.scale", events.CommandRoot+".service.demo.web.scale"),
		replies(vera, "has the answer to a question taken for a command", secure.Core, events.CommandRoot+".by.operator.cluster.policy", events.QuestionBy("vera", "demo", "state")),
	})...)
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

// numbered are the attacks that were first found in the code, by their numbers in that list: by a user of which role, and what it does. The others of the
// list are not about who connects.
var numbered = map[int]struct{ role, what string }{
	1:  {secure.Node, "publishes to " + events.LogRoot + ".round"},                             // stops every coordinator
	2:  {secure.Node, "makes a consumer of the log that publishes a command"},                  // by a name for what it delivers
	3:  {secure.Node, "publishes to " + events.LogRoot + ".service.demo.web.scaled"},           // forges what a round closes
	4:  {secure.Node, "publishes to " + events.OrderRoot + ".edge-b.demo.web.0.1"},             // forges an order
	6:  {secure.Node, "publishes to " + events.StatusRoot + ".edge-b.hello"},                   // takes a node over
	7:  {secure.Node, "publishes to " + events.HeartbeatRoot + ".edge-b"},                      // keeps a dead node alive
	10: {"deployer", "publishes to " + events.CommandRoot + ".by.ann.service.secret.web.drop"}, // names another namespace
	11: {"viewer", "publishes to " + events.TrimSubject},                                       // removes the log
	18: {"exec", "publishes to " + events.NodeRoot + ".edge-b.exec.by.operator.demo.web.0.1"},  // is recorded as another
	19: {"viewer", "publishes to " + events.QuestionBy("vera", "secret", "services")},          // asks about another namespace
	21: {"exec", "listens to " + events.SessionRoot + ".>"},                                    // guesses a session
}

// TestTheNumberedAttacksAreTried looks for them among those of TestAttacksDoNotWork, which must not work.
func TestTheNumberedAttacksAreTried(t *testing.T) {
	all := slices.Concat(ofNode(), ofJoiners(), ofClients())
	for number, n := range numbered {
		if !slices.ContainsFunc(all, func(a attack) bool { return a.by.Role == n.role && a.what == n.what && a.works == "" }) {
			t.Errorf("attack %d is not tried: a %s %s", number, n.role, n.what)
		}
	}
}

// TestAttacksDoNotWork tries attacks on a server without accounts, where each works, and on one with accounts, where only those of known limits do.
func TestAttacksDoNotWork(t *testing.T) {
	all := slices.Concat(ofNode(), ofJoiners(), ofClients())
	open, closed := serveOpen(t), serve(t)
	worked := 0
	for _, s := range []*served{open, closed} {
		victims := s.victims()
		s.stocked(victims[0])
		attackers := map[string]*attacker{}
		for _, a := range all {
			if attackers[a.by.Name] == nil {
				attackers[a.by.Name] = s.attacks(a.by)
			}
			works := a.try(t, attackers[a.by.Name], victims)
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
