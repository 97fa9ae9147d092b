package secure_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// Names in subjects of the matrix. Each user has the name self of its own, and those of the namespaced roles have the namespace mine.
const (
	self   = "<self>"
	other  = "other"
	mine   = "mine"
	theirs = "theirs"
)

// who are roles, divided by spaces.
type who string

const (
	none     who = ""
	trusted  who = "operator coordinator"
	leads    who = "coordinator"
	everyone who = "viewer deployer exec auditor operator coordinator"
	seesAll  who = "auditor operator coordinator"
)

func (w who) has(role string) bool { return slices.Contains(strings.Fields(string(w)), role) }

// row is subjects with who may publish to them, and who may subscribe to them.
type row struct {
	subjects           []string
	publish, subscribe who
}

// rows are all subjects of Rookery, by what they are for. The order and the words are apart from those of the roles on purpose: what both say counts.
func rows() []row {
	instance := ".web.0.1"
	return slices.Concat([]row{
		{under(events.CommandRoot, "service.mine.web.scale", "group.mine.shop.ensure", "node.other.drain", "cluster.policy", "x"), leads, trusted},
		{under(events.CommandRoot, "by."+self+".service.mine.web.scale", "by."+self+".group.mine.shop.ensure"), "deployer operator coordinator", trusted},
		{under(events.CommandRoot, "by."+self+".service.theirs.web.scale", "by."+self+".group.theirs.shop.ensure", "by."+self+".node.other.drain",
			"by."+self+".cluster.policy", "by."+self+".cluster.finish-upgrade"), trusted, trusted},
		{under(events.CommandRoot, "by.other.service.mine.web.scale", "by.other.cluster.policy"), leads, trusted},
		{under(events.StatusRoot, self+".hello", self+".list", self+".engine", self+".instance.mine"+instance), "node coordinator", trusted},
		{under(events.StatusRoot, "other.hello", "other.list", "other.engine", "other.instance.mine"+instance), leads, trusted},
		{under(events.LogRoot, "service.mine.web.scaled", "node.other.lost", "cluster.level", "round"), leads, trusted},
		{under(events.OrdersRoot, self+".mine"+instance, "other.mine"+instance, "epoch"), leads, trusted},
		{under(events.MetricRoot, "mine.web.0."+self, "theirs.web.0."+self), "node coordinator", trusted},
		{under(events.MetricRoot, "mine.web.0.other", "theirs.web.0"), leads, trusted},
		{under(events.HeartbeatRoot, self), "node coordinator", trusted},
		{under(events.HeartbeatRoot, other), leads, trusted},
		{under(events.EventRoot, "service.mine.web.scaled", "group.mine.shop.command.accepted"), leads, everyone},
		{under(events.EventRoot, "service.theirs.web.scaled", "group.theirs.shop.command.accepted", "node.other.lost", "node.mine.stray.found", "cluster.level",
			"command.7.accepted"), leads, seesAll},
		{under(events.FateRoot, self+".7"), leads, everyone},
		{under(events.FateRoot, "other.7", "x"), leads, trusted},
		{under(events.OrderRoot, self+".mine"+instance), leads, trusted + " node"},
		{under(events.OrderRoot, "other.mine"+instance), leads, trusted},
		{under(events.ViewRoot, "services.mine.web", "instances.mine.web.0", "nodes.other", "nodes.mine"), leads, everyone},
		{under(events.ViewRoot, "services.theirs.web", "endpoints.theirs.web"), leads, seesAll},
		{under(events.APIRoot, "services", "instances", "nodes", "command", "state", "logs", "exec", "x"), leads, trusted},
		{under(events.APIRoot+".by."+self+".mine", "services", "instances", "operations", "command", "explain", "history", "state", "diff", "plan", "addresses",
			"service-metrics"), "viewer deployer exec coordinator", trusted},
		{under(events.APIRoot+".by."+self+".mine", "nodes", "what-if", "actual", "logs", "exec"), leads, trusted},
		{under(events.APIRoot+".by."+self+".theirs", "services", "explain", "plan"), leads, trusted},
		{under(events.APIRoot+".by."+self+"._all", "nodes"), everyone, trusted},
		{under(events.APIRoot+".by."+self+"._all", "services", "command", "explain", "state", "what-if", "actual"), seesAll, trusted},
		{under(events.APIRoot+".by."+self+"._all", "logs", "exec", "x"), trusted, trusted},
		{under(events.APIRoot+".by.other", "mine.services", "_all.services", "_all.nodes"), leads, trusted},
		{under(events.NodeRoot, "other.logs.by."+self+".mine"+instance, "other.exec.by."+self+".mine"+instance), "exec operator coordinator", trusted},
		{under(events.NodeRoot, "other.logs.by."+self+".theirs"+instance, "other.exec.by."+self+".theirs"+instance, "other.actual"), trusted, trusted},
		{under(events.NodeRoot, "other.logs.mine"+instance, "other.exec.mine"+instance, "other.logs.by.other.mine"+instance, "other.exec.by.other.mine"+instance,
			"other.x"), leads, trusted},
		{under(events.NodeRoot, self+".logs.by.other.theirs"+instance), leads, trusted + " node"},
		{under(events.NodeRoot, self+".actual"), trusted, trusted + " node"},
		{under(events.SessionRoot, self+".edge-1.1", self+".1"), leads, everyone + " node"},
		{under(events.SessionRoot, "other.edge-1.1", "other.1"), leads, trusted},
		{under(events.SessionRoot, "other."+self+".1"), "node coordinator", trusted},
		{under(events.SupplyRoot, "orders."+self, "config."+self, "volume."+self+".1", "x."+self), "node coordinator", trusted},
		{under(events.SupplyRoot, "orders.other", "store-volume.other.1", "x"), leads, trusted},
		{under(events.JoinRoot, self), "joiner coordinator", trusted},
		{under(events.JoinRoot, "other", "x.y"), leads, trusted},
		{[]string{events.TrimSubject}, trusted, trusted},
		{[]string{events.RunningSubject}, leads, trusted},
		{[]string{"rookery.unknown"}, leads, trusted},
		{[]string{"unknown"}, leads, none},
		{[]string{"_INBOX." + self + ".1"}, leads, everyone + " node"},
		{[]string{"_INBOX._join." + self + ".1"}, leads, "joiner"},
		{[]string{"_INBOX.other.1", "_INBOX._join.other.1", "_INBOX.1"}, leads, none},
		{[]string{"_R_.other.1"}, "node coordinator", none},
		{under("$SRV", "PING", "INFO", "STATS", "PING.rookery"), trusted, leads},
		{under("$SYS", "REQ.SERVER.PING", "ACCOUNT.X.CONNECT", "REQ.CLAIMS.UPDATE"), leads, none},
	}, stored(), interfaces())
}

// stored are the subjects of buckets and object stores.
func stored() (all []row) {
	for _, bucket := range slices.Concat(bus.Views, []string{bus.BucketLease, bus.BucketConfigs, bus.BucketOutput}) {
		all = append(all, row{under("$KV."+bucket, "mine.web", "theirs.web"), trusted, trusted})
	}
	for _, store := range bus.ObjectStores {
		all = append(all, row{under("$O."+store, "M.x", "C.x"), trusted, none})
	}
	return all
}

// streams are those of Rookery, with those below buckets and object stores.
func streams() (all []string) {
	for _, s := range bus.Streams {
		all = append(all, string(s))
	}
	for _, bucket := range slices.Concat(bus.Views, []string{bus.BucketLease, bus.BucketConfigs, bus.BucketOutput}) {
		all = append(all, "KV_"+bucket)
	}
	for _, store := range bus.ObjectStores {
		all = append(all, string(bus.ObjectStream(store)))
	}
	return append(all, "OTHER", "KV_other", "OBJ_other")
}

// verbs are the interfaces of JetStream that name a stream, in the order of NATS's own list (https://docs.nats.io/reference/reference-protocols/nats_api_reference).
var verbs = []string{
	"STREAM.CREATE.%s", "STREAM.UPDATE.%s", "STREAM.INFO.%s", "STREAM.DELETE.%s", "STREAM.PURGE.%s", "STREAM.MSG.DELETE.%s", "STREAM.MSG.GET.%s",
	"STREAM.SNAPSHOT.%s", "STREAM.RESTORE.%s", "STREAM.PEER.REMOVE.%s", "STREAM.LEADER.STEPDOWN.%s",
	"CONSUMER.CREATE.%s", "CONSUMER.CREATE.%s.c", "CONSUMER.CREATE.%s.c.x.y", "CONSUMER.DURABLE.CREATE.%s.c", "CONSUMER.LIST.%s", "CONSUMER.NAMES.%s",
	"CONSUMER.INFO.%s.c", "CONSUMER.DELETE.%s.c", "CONSUMER.PAUSE.%s.c", "CONSUMER.UNPIN.%s.c", "CONSUMER.MSG.NEXT.%s.c", "CONSUMER.LEADER.STEPDOWN.%s.c",
	"DIRECT.GET.%s", "DIRECT.GET.%s.x.y",
}

// interfaces are the subjects of JetStream.
func interfaces() []row {
	all := []row{
		{under("$JS.API", "INFO", "STREAM.LIST", "STREAM.NAMES", "STREAM.TEMPLATE.NAMES", "META.LEADER.STEPDOWN", "SERVER.REMOVE", "ACCOUNT.PURGE.X"), trusted, none},
		{[]string{"$JS.ACK.ROOKERY_LOG.c.1.1.1.1.1"}, trusted, none},
		{[]string{"$JS.FC.ROOKERY_LOG.c.x"}, trusted, none},
		{under("$JS.EVENT", "ADVISORY.x", "METRIC.x"), leads, none},
	}
	for _, verb := range verbs {
		for _, stream := range streams() {
			all = append(all, row{[]string{"$JS.API." + fmt.Sprintf(verb, stream)}, trusted, none})
		}
	}
	return all
}

func under(root string, subjects ...string) []string {
	all := make([]string, len(subjects))
	for i, s := range subjects {
		all[i] = root + "." + s
	}
	return all
}

// deniedTo are the subjects that the server did not let a connection publish or subscribe to.
type deniedTo struct {
	mu                 sync.Mutex
	publish, subscribe map[string]bool
}

var denial = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]+)"`)

func (d *deniedTo) note(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range denial.FindAllStringSubmatch(err.Error(), -1) {
		if strings.EqualFold(m[1], "publish") {
			d.publish[m[2]] = true
		} else {
			d.subscribe[m[2]] = true
		}
	}
}

// TestRolesMayDoWhatTheMatrixSays tries every role with every subject on a real server that has accounts: to publish, to subscribe and to ask.
func TestRolesMayDoWhatTheMatrixSays(t *testing.T) {
	s := serve(t)
	all := rows()
	cells, allowed, denied := 0, 0, 0
	for _, role := range secure.Roles() {
		user := secure.User{Name: "u-" + role.Name, Role: role.Name}
		if role.ByNamespace {
			user.Namespaces = []string{mine}
		}
		for _, action := range []string{"publish", "subscribe", "request"} {
			got := s.tries(user, action, all)
			for _, r := range all {
				want := r.publish.has(role.Name)
				if action == "subscribe" {
					want = r.subscribe.has(role.Name)
				}
				for _, subject := range r.subjects {
					cells++
					switch may := got[subject]; {
					case may && !want:
						allowed++
						t.Errorf("a %s may %s %s", role.Name, action, subject)
					case !may && want:
						denied++
						t.Errorf("a %s may not %s %s", role.Name, action, subject)
					}
				}
			}
		}
	}
	fmt.Printf("cells %d, wrongly allowed %d, wrongly denied %d\n", cells, allowed, denied)
}

// tries does with each subject of the rows what the action says, and returns to which the server lets the user do it.
func (s *served) tries(user secure.User, action string, all []row) map[string]bool {
	s.Helper()
	d := &deniedTo{publish: map[string]bool{}, subscribe: map[string]bool{}}
	heard := make(chan struct{})
	conn := s.connect(user, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { d.note(err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(heard) }))
	inbox := conn.NewInbox()
	named := map[string]string{}
	for _, r := range all {
		for _, subject := range r.subjects {
			full := strings.ReplaceAll(subject, self, user.Name)
			named[subject] = full
			var err error
			switch action {
			case "subscribe":
				_, err = conn.SubscribeSync(full)
			case "request":
				err = conn.PublishRequest(full, inbox, nil)
			default:
				err = conn.Publish(full, nil)
			}
			if err != nil {
				s.Fatal(err)
			}
		}
	}
	if err := conn.Flush(); err != nil { // the server has said by then what it denies
		s.Fatal(err)
	}
	conn.Close()
	<-heard // its last call: the errors were handled before
	d.mu.Lock()
	defer d.mu.Unlock()
	said := d.publish
	if action == "subscribe" {
		said = d.subscribe
	}
	got := map[string]bool{}
	for subject, full := range named {
		got[subject] = !said[strings.ToLower(full)] && !said[full]
	}
	return got
}

// TestEverySubjectHasARow compares the rows with the roots of subjects that package events has.
func TestEverySubjectHasARow(t *testing.T) {
	var all []string
	for _, r := range rows() {
		all = append(all, r.subjects...)
	}
	sources, err := filepath.Glob("../../../events/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("there is no source of package events: %v", err)
	}
	root := regexp.MustCompile(`= "(rookery\.[a-z]+)"`)
	roots := 0
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range root.FindAllStringSubmatch(string(text), -1) {
			roots++
			if !slices.ContainsFunc(all, func(s string) bool { return s == m[1] || strings.HasPrefix(s, m[1]+".") }) {
				t.Errorf("the matrix has no row for %s", m[1])
			}
		}
	}
	if roots == 0 {
		t.Error("no root of subjects was found")
	}
}
