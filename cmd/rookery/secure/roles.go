package secure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"

	"github.com/rookery-project/rookery/events"
)

// Role is what a user of the bus may do.
type Role struct {
	Name string
	// About says what it is for, in a few words.
	About string
	// ByNamespace says that each user of the role has namespaces.
	ByNamespace bool
	// account is the one that its users are in.
	account            string
	publish, subscribe []string
}

// share is a subject of one account that others have too.
type share struct {
	subject string
	how     jwt.ExportType
	answers jwt.ResponseType // an answer to a question may have several parts
	of      string
	to      []string
}

// name tells the share from others of its subject.
func (s share) name() string { return s.subject + " (" + s.how.String() + ")" }

// shared are the subjects that accounts share. Answers go to who asked alone. Frames of sessions from nodes are a stream for clients and a service
// of Core: the server does not pass on from Core a message of another account, and streams from each to the other would be a cycle.
var shared = []share{
	{events.CommandRoot + ".by.>", jwt.Service, jwt.ResponseTypeSingleton, Core, []string{Clients}},
	{events.APIRoot + ".by.>", jwt.Service, jwt.ResponseTypeStream, Core, []string{Clients}},
	{events.EventRoot + ".>", jwt.Stream, "", Core, []string{Clients}},
	{events.ViewRoot + ".>", jwt.Stream, "", Core, []string{Clients}},
	{events.FateRoot + ".>", jwt.Stream, "", Core, []string{Clients}},

	{events.StatusRoot + ".>", jwt.Service, jwt.ResponseTypeSingleton, Core, []string{Nodes}},
	{events.HeartbeatRoot + ".>", jwt.Service, jwt.ResponseTypeSingleton, Core, []string{Nodes}},
	{events.MetricRoot + ".>", jwt.Service, jwt.ResponseTypeSingleton, Core, []string{Nodes}},
	{events.SupplyRoot + ".>", jwt.Service, jwt.ResponseTypeSingleton, Core, []string{Nodes}},
	{events.JoinRoot + ".>", jwt.Service, jwt.ResponseTypeSingleton, Core, []string{Nodes}},
	{events.OrderRoot + ".>", jwt.Stream, "", Core, []string{Nodes}},
	{events.NodeRoot + ".>", jwt.Service, jwt.ResponseTypeStream, Nodes, []string{Core, Clients}},

	{events.SessionRoot + ".>", jwt.Service, jwt.ResponseTypeSingleton, Core, []string{Nodes}},
	{events.SessionRoot + ".>", jwt.Stream, "", Core, []string{Nodes}},
	{events.SessionRoot + ".>", jwt.Stream, "", Nodes, []string{Clients}},
}

// The server puts the user's name and namespaces in the place of these. Both are DNS labels, because it escapes nothing.
const (
	ofUser      = "{{name()}}"
	ofNamespace = "{{tag(ns)}}"
)

// The roles of coordinators, of nodes, of those who ask to join as nodes, and of those who operate the cluster.
const (
	Coordinator = "coordinator"
	Node        = "node"
	Joiner      = "joiner"
	Operator    = "operator"
)

// asks returns questions that the user asks under its own name, about the namespace.
func asks(namespace string, questions ...string) []string {
	return below(events.APIRoot+".by."+ofUser+"."+namespace, questions...)
}

// looks are what the command line asks about namespaces to show something, and looksAtAll what it asks about all of them together.
var (
	looks      = []string{"services", "instances", "operations", "command", "explain", "history", "state", "diff", "plan", "addresses", "service-metrics"}
	looksAtAll = append([]string{"nodes", "what-if", "actual"}, looks...)
	// ofNamespaces is what users of a namespace ask: nodes belong to none.
	ofNamespaces = slices.Concat(asks(ofNamespace, looks...), asks(events.AllNamespaces, "nodes"))
)

// hears are what all users may hear: answers in their own inboxes, their own sessions and what became of their own commands.
var hears = []string{InboxOf(ofUser) + ".>", events.SessionRoot + "." + ofUser + ".>", events.FateRoot + "." + ofUser + ".>"}

// hearsOf are what users of a namespace hear beside: events of its services and groups, and changes of views.
var hearsOf = slices.Concat(hears, []string{
	events.ViewRoot + ".nodes.>", events.EventRoot + ".service." + ofNamespace + ".>", events.EventRoot + ".group." + ofNamespace + ".>", events.ViewRoot + ".*." + ofNamespace + ".>",
})

// bySelf are commands that the user sends under its own name.
func bySelf(commands ...string) []string { return below(events.CommandRoot+".by."+ofUser, commands...) }

// sessionsBySelf are sessions that the user opens under its own name.
func sessionsBySelf(with string) []string {
	return below(events.NodeRoot, "*."+string(events.SessionLogs)+".by."+ofUser+"."+with, "*."+string(events.SessionExec)+".by."+ofUser+"."+with)
}

// jetStream are the interfaces of NATS with which a user may read and change every stream.
var jetStream = []string{"$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "$KV.>", "$O.>", "$SRV.>"}

// answers is where the answer to a request from another account goes: the server makes up a subject for each, and takes one answer there. NATS's
// allow_responses would let a user publish wherever a message that it hears asks for an answer, also one that it has sent to itself.
const answers = "_R_.>"

var roles = []Role{
	{
		Name: "viewer", About: "sees services, instances and history of its namespaces, and nodes", ByNamespace: true, account: Clients,
		publish: ofNamespaces, subscribe: hearsOf,
	},
	{
		Name: "deployer", About: "sends commands to services and groups of its namespaces, and sees what a viewer sees", ByNamespace: true, account: Clients,
		publish:   slices.Concat(ofNamespaces, bySelf("service."+ofNamespace+".*.*", "group."+ofNamespace+".*.*")),
		subscribe: hearsOf,
	},
	{
		Name: "exec", About: "reads logs and runs commands in containers of its namespaces, and sees what a viewer sees", ByNamespace: true, account: Clients,
		publish: slices.Concat(ofNamespaces,
			sessionsBySelf(ofNamespace+".>")),
		subscribe: hearsOf,
	},
	{
		Name: "auditor", About: "sees services, instances, nodes, history and events of all namespaces", account: Clients,
		publish: asks(events.AllNamespaces, looksAtAll...), subscribe: slices.Concat(hears, []string{events.EventRoot + ".>", events.ViewRoot + ".>"}),
	},
	{
		Name: Operator, About: "sends every command, and sets up and reads every stream", account: Core,
		publish: slices.Concat(jetStream, bySelf(">"), sessionsBySelf(">"), below(events.APIRoot, "by."+ofUser+"."+events.AllNamespaces+".*"), []string{
			events.NodeRoot + ".*.actual", events.TrimSubject,
		}),
		subscribe: slices.Concat(hears, []string{"rookery.>", "$KV.>"}),
	},
	{
		Name: Coordinator, About: "runs a coordinator", account: Core,
		publish: []string{">"}, subscribe: []string{InboxOf(ofUser) + ".>", "rookery.>", "$SRV.>", "$KV.>"},
	},
	{
		Name: Node, About: "runs the node of its name", account: Nodes,
		publish: slices.Concat([]string{answers},
			below(events.StatusRoot, ofUser+".>"), below(events.HeartbeatRoot, ofUser), below(events.MetricRoot, "*.*.*."+ofUser),
			below(events.SupplyRoot, "*."+ofUser, "*."+ofUser+".>"), below(events.SessionRoot, "*."+ofUser+".>"),
		),
		subscribe: slices.Concat(
			[]string{InboxOf(ofUser) + ".>"}, below(events.OrderRoot, ofUser+".>"), below(events.NodeRoot, ofUser+".>"),
			below(events.SessionRoot, ofUser+".>"),
		),
	},
	{
		Name: Joiner, About: "asks to join as a node: rookery token create makes one", account: Nodes,
		publish: below(events.JoinRoot, ofUser), subscribe: []string{JoinInboxOf(ofUser) + ".>"},
	},
}

func below(root string, subjects ...string) []string {
	all := make([]string, len(subjects))
	for i, s := range subjects {
		all[i] = root + "." + s
	}
	return all
}

// InboxOf is where a user gets answers: below it no other user may subscribe.
func InboxOf(user string) string { return "_INBOX." + user }

// JoinInboxOf is where one who asks to join gets answers. It is apart from the inbox of the node of the same name: the credentials with which a node asks
// again last longer than those for its work. The label is not the name of a user.
func JoinInboxOf(user string) string { return "_INBOX._join." + user }

// Roles returns all roles, in the order in which help texts list them.
func Roles() []Role { return slices.Clone(roles) }

// RoleNamed returns the role of this name. Its error lists the roles.
func RoleNamed(name string) (Role, error) {
	names := make([]string, len(roles))
	for i, r := range roles {
		if names[i] = r.Name; r.Name == name {
			return r, nil
		}
	}
	return Role{}, fmt.Errorf("there is no role %q: known are %s", name, strings.Join(names, ", "))
}

// scope returns the role as the account has it, for the signing key with this public key.
func (r Role) scope(key string) jwt.Scope {
	s := jwt.NewUserScope()
	s.Key, s.Role, s.Description = key, r.Name, r.About
	s.Template.Pub.Allow, s.Template.Sub.Allow = r.publish, r.subscribe
	return s
}
