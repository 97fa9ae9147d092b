package secure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	// answers says that a user may publish an answer to each request that it gets, wherever that asks for it.
	answers bool
}

// shared are the subjects of Core that Clients have: questions and commands, whose answers go to who sent them alone, and what they hear.
var shared = []struct {
	subject string
	how     jwt.ExportType
	answers jwt.ResponseType // an answer to a question may have several parts
}{
	{events.CommandRoot + ".by.>", jwt.Service, jwt.ResponseTypeSingleton},
	{events.APIRoot + ".>", jwt.Service, jwt.ResponseTypeStream},
	{events.NodeRoot + ".>", jwt.Service, jwt.ResponseTypeStream},
	{events.EventRoot + ".>", jwt.Stream, ""},
	{events.ViewRoot + ".>", jwt.Stream, ""},
	{events.SessionRoot + ".>", jwt.Stream, ""},
}

// The server puts the user's name and namespaces in the place of these. Both are DNS labels, because it escapes nothing.
const (
	ofUser      = "{{name()}}"
	ofNamespace = "{{tag(ns)}}"
	// namespaceTag begins the tag of a user that has a namespace.
	namespaceTag = "ns:"
)

// The roles of coordinators, of nodes, and of those who operate the cluster.
const (
	Coordinator = "coordinator"
	Node        = "node"
	Operator    = "operator"
)

// looks are what the command line asks to show something. The answers are about all namespaces.
var looks = below(events.APIRoot, "services", "instances", "nodes", "operations", "command", "explain", "history", "state", "diff", "plan", "what-if",
	"addresses", "actual", "service-metrics")

// hears are what all users may hear: changes of views and events of all namespaces, answers in their own inboxes, and their own sessions.
var hears = []string{inboxOf(ofUser) + ".>", events.EventRoot + ".>", events.ViewRoot + ".>", events.SessionRoot + "." + ofUser + ".>"}

// bySelf are commands that the user sends under its own name.
func bySelf(commands ...string) []string { return below(events.CommandRoot+".by."+ofUser, commands...) }

// nodeNeeds are the interfaces of NATS that a node uses: to read its orders and configs, and to keep the output of containers and the contents
// of volumes. Consumers and streams that it makes for these contents may name any subject.
var nodeNeeds = slices.Concat(
	below("$JS.API.STREAM.INFO", "ROOKERY_LOG", "ROOKERY_ORDERS", "KV_rookery_configs", "KV_rookery_output", volumes),
	below("$JS.API.STREAM.MSG.GET", "ROOKERY_ORDERS", "KV_rookery_configs", volumes),
	below("$JS.API.DIRECT.GET", "ROOKERY_ORDERS", "ROOKERY_ORDERS.>", "KV_rookery_configs.>", volumes, volumes+".>"),
	below("$JS.API", "STREAM.CREATE."+volumes, "STREAM.PURGE."+volumes, "CONSUMER.CREATE."+volumes+".>", "CONSUMER.DELETE."+volumes+".>"),
	[]string{"$JS.FC.>", "$KV.rookery_output.>", "$O.rookery_volumes.>"},
)

// volumes is the stream of the contents of volumes.
const volumes = "OBJ_rookery_volumes"

// jetStream are the interfaces of NATS with which a user may read and change every stream.
var jetStream = []string{"$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "$KV.>", "$O.>", "$SRV.>"}

var roles = []Role{
	{
		Name: "viewer", About: "sees services, instances, nodes and history of all namespaces", account: Clients,
		publish: looks, subscribe: hears,
	},
	{
		Name: "deployer", About: "sends commands to services and groups of its namespaces, and sees what a viewer sees", ByNamespace: true, account: Clients,
		publish: slices.Concat(looks, bySelf("service."+ofNamespace+".*.*", "group."+ofNamespace+".*.*")), subscribe: hears,
	},
	{
		Name: "exec", About: "reads logs and runs commands in containers of its namespaces, and sees what a viewer sees", ByNamespace: true, account: Clients,
		publish: slices.Concat(looks, below(events.NodeRoot, "*."+string(events.SessionLogs)+"."+ofNamespace+".>", "*."+string(events.SessionExec)+"."+ofNamespace+".>")), subscribe: hears,
	},
	{
		Name: Operator, About: "sends every command, and sets up and reads every stream", account: Core,
		publish: slices.Concat(jetStream, bySelf(">"), []string{
			events.APIRoot + ".>", events.NodeRoot + ".>", events.LogRoot + ".>", events.OrdersRoot + ".>", events.TrimSubject,
		}),
		subscribe: slices.Concat(hears, []string{"rookery.>", "$KV.>"}),
	},
	{
		Name: Coordinator, About: "runs a coordinator", account: Core,
		publish: []string{">"}, subscribe: []string{inboxOf(ofUser) + ".>", "rookery.>", "$SRV.>", "$KV.>"},
	},
	{
		Name: Node, About: "runs the node of its name", account: Core, answers: true,
		publish: slices.Concat(
			below(events.StatusRoot, ofUser+".>"), below(events.HeartbeatRoot, ofUser), below(events.MetricRoot, ">"),
			nodeNeeds, below(events.SessionRoot, ">"),
		),
		subscribe: slices.Concat(
			[]string{inboxOf(ofUser) + ".>"}, below(events.OrderRoot, ofUser+".>"), below(events.NodeRoot, ofUser+".>"),
		),
	},
}

func below(root string, subjects ...string) []string {
	all := make([]string, len(subjects))
	for i, s := range subjects {
		all[i] = root + "." + s
	}
	return all
}

// inboxOf is where a user gets answers: below it no other user may subscribe.
func inboxOf(user string) string { return "_INBOX." + user }

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

// answersWithin is how long a user may take to answer a request.
const answersWithin = time.Minute

// scope returns the role as the account has it, for the signing key with this public key.
func (r Role) scope(key string) jwt.Scope {
	s := jwt.NewUserScope()
	s.Key, s.Role, s.Description = key, r.Name, r.About
	s.Template.Pub.Allow, s.Template.Sub.Allow = r.publish, r.subscribe
	if r.answers {
		s.Template.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: answersWithin}
	}
	return s
}

// namespaces returns those of a user's tags, in order.
func namespaces(tags jwt.TagList) []string {
	all := map[string]bool{}
	for _, tag := range tags {
		if ns, is := strings.CutPrefix(tag, namespaceTag); is {
			all[ns] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
