package events

import (
	"strings"
	"testing"
)

var (
	web   = ServiceID{Namespace: "demo", Name: "web"}
	web41 = InstanceID{Service: web, Ordinal: 4, Generation: 1}
)

func TestSubjectsAreThoseOfTheDesign(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{CommandSubject(web, "scale"), "rookery.cmd.service.demo.web.scale"},
		{ServiceScope(web).LogSubject(InstancePlaced{}.Kind()), "rookery.log.service.demo.web.instance.placed"},
		{ServiceScope(web).LogSubject(ServiceScaled{}.Kind()), "rookery.log.service.demo.web.scaled"},
		{NodeScope("n1").LogSubject(NodeJoined{}.Kind()), "rookery.log.node.n1.joined"},
		{NodeScope("n1").LogSubject(StrayFound{}.Kind()), "rookery.log.node.n1.stray.found"},
		{ClusterScope.LogSubject(ClusterAdopted{}.Kind()), "rookery.log.cluster.adopted"},
		{ClusterScope.LogSubject(CommandRejected{}.Kind()), "rookery.log.cluster.command.rejected"},
		{RoundScope.LogSubject(RoundClosed{}.Kind()), "rookery.log.round"},
		{EventSubject("rookery.log.node.n1.joined"), "rookery.event.node.n1.joined"},
		{CommandOutcomeSubject(12, "accepted"), "rookery.event.command.12.accepted"},
		{HeartbeatSubject("n1"), "rookery.heartbeat.n1"},
		{HelloSubject("n1"), "rookery.status.n1.hello"},
		{ListSubject("n1"), "rookery.status.n1.list"},
		{InstanceStatusSubject("n1", web41), "rookery.status.n1.instance.demo.web.4.1"},
		{OrderSubject("n1", web41), "rookery.orders.n1.demo.web.4.1"},
		{NodeOrders(OrderRoot, "n1"), "rookery.order.n1.>"},
		{OrdersEpochSubject, "rookery.orders.epoch"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestLogSubjectsReadBack(t *testing.T) {
	for _, scope := range []Scope{ClusterScope, RoundScope, NodeScope("n1"), ServiceScope(web), GroupScope(GroupID{Namespace: "demo", Name: "shop"})} {
		for _, sample := range Samples() {
			subject := scope.LogSubject(sample.Kind())
			if got, ok := parseLogScope(subject); !ok || got != scope {
				t.Errorf("%s reads as %+v, %v, want %+v", subject, got, ok, scope)
			}
		}
	}
	for _, subject := range []string{
		"", "rookery.log", "rookery.log.round.x", "rookery.log.cluster", "rookery.log.node.n1", "rookery.log.service.demo.web", "rookery.log.group.demo.shop",
		"rookery.log.other.x", "rookery.event.cluster.adopted", "other.log.cluster.adopted",
	} {
		if scope, ok := parseLogScope(subject); ok {
			t.Errorf("%q reads as %+v", subject, scope)
		}
	}
}

func TestScopesSayWhatTheyName(t *testing.T) {
	if id, ok := ServiceScope(web).Service(); !ok || id != web {
		t.Errorf("got %v, %v", id, ok)
	}
	if node, ok := NodeScope("n1").Node(); !ok || node != "n1" {
		t.Errorf("got %v, %v", node, ok)
	}
	for _, scope := range []Scope{ClusterScope, RoundScope} {
		_, service := scope.Service()
		_, node := scope.Node()
		if service || node {
			t.Errorf("%+v names a service or a node", scope)
		}
	}
}

func TestOrderSubjectsReadBack(t *testing.T) {
	largest := InstanceID{Service: web, Ordinal: 1<<32 - 1, Generation: 1<<32 - 1}
	for _, id := range []InstanceID{web41, largest, {Service: web}} {
		stored := OrderSubject("n1", id)
		for _, subject := range []string{stored, OrderRoot + strings.TrimPrefix(stored, OrdersRoot)} {
			if node, got, ok := ParseOrderSubject(subject); !ok || node != "n1" || got != id {
				t.Errorf("%s reads as %s, %s, %v", subject, node, got, ok)
			}
		}
	}
	for _, subject := range []string{
		"", "rookery.orders.epoch", "rookery.orders.n1.demo.web.4", "rookery.orders.n1.demo.web.4.1.0",
		"rookery.orders.n1.demo.web.x.1", "rookery.orders.n1.demo.web.4.-1", "rookery.orders.n1.demo.web.04.1",
		"rookery.orders.n1.demo.web.4.+1", "rookery.orders.n1.demo.web.4294967296.1", "rookery.orders.N1.demo.web.4.1",
		"rookery.orders.n1.Demo.web.4.1", "rookery.orders.n1.demo..4.1", "rookery.orders.n1.demo.web..1",
		"rookery.status.n1.demo.web.4.1",
	} {
		if node, id, ok := ParseOrderSubject(subject); ok {
			t.Errorf("%q reads as %s, %s", subject, node, id)
		}
	}
}
