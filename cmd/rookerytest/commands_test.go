package rookerytest_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// promised is what operators expect of a command that they know from elsewhere. Every part is run.
type promised struct {
	// word is what other tools call the command, and same a tool that uses the same word. Both are "" where no tool has such a command.
	word, same string
	// value is the command with arguments and --output json, which prints JSON; "" for a command that prints a file, a screen or a sentence.
	value string
	// change is the command with arguments that change something; "" for a command that changes nothing in the cluster. With --dry-run it exits with 7.
	change string
	// unknown is the command with a name that does not exist, and code its exit code: 3 if the coordinator rejects the command, else 1.
	unknown string
	code    int
	// offers is what a shell completes as the first argument; "" for a command that takes no name of the cluster.
	offers string
}

// commandsPromise has every command that has no further commands below it.
var commandsPromise = map[string]promised{
	"apply":    {word: "deploy", change: "apply --yes -f db.yaml", unknown: "apply -f none.yaml", code: 1, offers: "demo"},
	"cancel":   {same: "gh run", change: "cancel demo/slow", unknown: "cancel demo/nope", code: 3, offers: "demo/web"},
	"drop":     {word: "undeploy", change: "drop --yes demo/web", unknown: "drop --yes demo/nope", code: 3, offers: "demo/web"},
	"edit":     {same: "kubectl", unknown: "edit demo/nope", code: 1, offers: "demo/web"},
	"ensure":   {word: "create", change: "ensure demo/new --image localhost/web:1"},
	"export":   {same: "docker", value: "export demo/web", unknown: "export demo/nope", code: 1, offers: "demo/web"},
	"init":     {same: "nomad job"},
	"plan":     {same: "nomad job", value: "plan demo/web --file web.json", unknown: "plan demo/web --file none.json", code: 1, offers: "demo/web"},
	"promote":  {same: "nomad deployment", unknown: "promote demo/nope", code: 3},
	"restart":  {same: "docker", change: "restart demo/web", unknown: "restart demo/nope", code: 3, offers: "demo/web"},
	"resume":   {same: "flux", change: "resume demo/still", unknown: "resume demo/nope", code: 3, offers: "demo/web"},
	"rollback": {word: "undo", change: "rollback demo/web", unknown: "rollback demo/nope", code: 3, offers: "demo/web"},
	"scale":    {same: "docker service", change: "scale demo/web 3", unknown: "scale demo/nope 3", code: 3, offers: "demo/web"},
	"schema":   {same: "nats", unknown: "schema nope", code: 2},
	"snapshot": {same: "velero", change: "snapshot demo/kept", unknown: "snapshot demo/nope", code: 3, offers: "demo/web"},
	"suspend":  {same: "flux", change: "suspend demo/web", unknown: "suspend demo/nope", code: 3, offers: "demo/web"},
	"validate": {same: "nomad job", unknown: "validate none.json", code: 1},

	"config get":   {same: "docker", unknown: "config get demo/nope", code: 1, offers: "demo/app"},
	"config ls":    {same: "docker", value: "config ls", unknown: "config ls nope", code: 1, offers: "demo"},
	"config put":   {same: "nats kv", unknown: "config put demo/more none.txt", code: 1, offers: "demo/app"},
	"config rm":    {same: "docker", unknown: "config rm demo/nope", code: 1, offers: "demo/app"},
	"group cancel": {same: "gh run", unknown: "group cancel demo/nope", code: 3},
	"group ensure": {word: "create", change: "group ensure demo/shop --file shop.json"},

	"events":   {same: "kubectl", value: "events", unknown: "events demo/none", code: 1, offers: "demo/web"},
	"exec":     {same: "docker", unknown: "exec demo/nope true", code: 1, offers: "demo/web"},
	"explain":  {word: "why", value: "explain demo/web", unknown: "explain demo/nope", code: 1, offers: "demo/web"},
	"inspect":  {word: "describe", value: "inspect demo/web", unknown: "inspect demo/nope", code: 1, offers: "demo/web"},
	"logs":     {same: "docker", value: "logs demo/web", unknown: "logs demo/nope", code: 1, offers: "demo/web"},
	"ops":      {word: "rollout", value: "ops", unknown: "ops demo/nope", code: 1, offers: "demo"},
	"ps":       {word: "pods", value: "ps", unknown: "ps demo/nope", code: 1, offers: "demo/web"},
	"services": {word: "get", value: "services", unknown: "services demo/nope", code: 1, offers: "demo/web"},
	"stats":    {same: "docker", value: "stats", unknown: "stats demo/nope", code: 1, offers: "demo/web"},
	"top":      {word: "dashboard"},

	"drain":       {word: "cordon", change: "drain --yes node-1", unknown: "drain --yes nope", code: 3, offers: "node-1"},
	"forget":      {same: "consul", unknown: "forget --yes nope", code: 3, offers: "node-1"},
	"node":        {same: "nomad"},
	"node admit":  {unknown: "node admit nope --key UDXB6VSFQFQ4SBXW2YZSPZ4DFBWKQ36K2BBYKEL2AVOBU7D2IXQGXPKC", code: 3, offers: "node-1"},
	"node join":   {same: "docker swarm", unknown: "node join nope", code: 2},
	"node revoke": {unknown: "node revoke nope --dir none", code: 1, offers: "node-1"},
	"node rotate": {unknown: "node rotate nope", code: 2},
	"node label":  {same: "docker", change: "node label node-1 disk=tape", unknown: "node label nope disk=tape", code: 3, offers: "node-1"},
	"node pause":  {same: "docker", change: "node pause node-1", unknown: "node pause nope", code: 3, offers: "node-1"},
	"node resume": {same: "docker", unknown: "node resume nope", code: 3, offers: "node-1"},
	"nodes":       {same: "kubectl get", value: "nodes", unknown: "nodes nope", code: 1, offers: "node-1"},
	"policy get":  {same: "consul acl", value: "policy get"},
	"policy set":  {same: "consul acl", change: "policy set --file policy.json", unknown: "policy set --file none.json", code: 1},
	"rebalance":   {same: "rethinkdb", value: "rebalance --yes --dry-run"},

	"cluster status":      {unknown: "cluster status none.yaml", code: 1},
	"cluster up":          {unknown: "cluster up none.yaml", code: 1},
	"cluster upgrade":     {unknown: "cluster upgrade none.yaml", code: 1},
	"install coordinator": {unknown: "install coordinator none", code: 1},
	"install node":        {unknown: "install node none", code: 2},
	"install server":      {unknown: "install server none", code: 1},
	"uninstall":           {unknown: "uninstall none", code: 2},

	"archive": {same: "nats stream backup", unknown: "archive --keep-age 1h --to none/none/none", code: 1},
	"capsule": {unknown: "capsule --from nope --out c.json", code: 2},
	"diff":    {same: "kubectl", value: "diff --from 10", unknown: "diff --from 1 --service demo/nope", code: 1},
	"history": {same: "helm", value: "history demo/web", unknown: "history demo/none", code: 1, offers: "demo/web"},
	"replay":  {same: "nats stream", value: "replay", unknown: "replay demo/none", code: 1, offers: "demo/web"},
	"state":   {same: "terraform", value: "state"},
	"what-if": {unknown: "what-if --policy none.json", code: 1},

	"bus adopt":              {},
	"bus backup":             {same: "nats stream", value: "bus backup b", unknown: "bus backup none/none", code: 1},
	"bus check":              {word: "health", value: "bus check"},
	"bus init":               {same: "kubeadm"},
	"bus migrate":            {word: "scale", value: "bus migrate"},
	"bus restore":            {same: "nats stream", unknown: "bus restore none", code: 1},
	"cluster finish-upgrade": {change: "cluster finish-upgrade"},
	"coordinator":            {},
	"dev":                    {word: "quickstart"},
	"doctor":                 {word: "health"},
	"secure init":            {},
	"secure adopt":           {unknown: "secure adopt --dir none", code: 1},
	"secure renew":           {unknown: "secure renew --dir none", code: 1},
	"secure rotate":          {unknown: "secure rotate rounds --dir none", code: 1},
	"token create":           {unknown: "token create --dir none", code: 1},
	"user add":               {same: "gh", unknown: "user add ann --role nope", code: 1},
	"user ls":                {same: "nats auth", unknown: "user ls --dir none", code: 1},
	"user rm":                {same: "nats auth", unknown: "user rm nope", code: 1},
	"user rotate":            {unknown: "user rotate nope", code: 1},
	"version":                {same: "docker", value: "version"},
}

// TestTheTableOfCommands runs what commandsPromise has of every command, on a `rookery dev --simulated`. It logs the table.
func TestTheTableOfCommands(t *testing.T) {
	t.Parallel()
	for _, path := range commandsOfReference(t) {
		if _, listed := commandsPromise[path]; !listed {
			t.Errorf("rookery %s is not in the table", path)
		}
	}
	g := startGuide(t, upgraded(t))
	g.prepare()
	before := g.shell("rookery ps -o json; rookery nodes -o json; rookery policy get")
	table := []string{"COMMAND\tELSEWHERE\tDRY RUN\tJSON\tUNKNOWN NAME\tCOMPLETION\tEXAMPLE"}
	for _, path := range slices.Sorted(maps.Keys(commandsPromise)) {
		of := commandsPromise[path]
		table = append(table, strings.Join([]string{
			path, g.elsewhere(path, of), g.tried(of), g.value(of), g.unknown(of), g.completed(path, of), g.example(path),
		}, "\t"))
	}
	if after := g.shell("rookery ps -o json; rookery nodes -o json; rookery policy get"); !alike(before, after) {
		t.Errorf("the commands tried with --dry-run have changed\n%s\nto\n%s", before, after)
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

var heading = regexp.MustCompile(`(?m)^## rookery (.+)$`)

// commandsOfReference returns the commands of the generated reference without those that only hold others.
func commandsOfReference(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../rookery/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range heading.FindAllStringSubmatch(string(text), -1) {
		all = append(all, found[1])
	}
	holds := func(path string) bool {
		return path != "node" && slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, path+" ") })
	}
	return slices.DeleteFunc(slices.Clone(all), holds)
}

// prepare makes what the commands of the table name.
func (g *guide) prepare() {
	g.Helper()
	for name, text := range map[string]string{
		"db.yaml":     "kind: service\nname: demo/db\nimage: localhost/db:1\n",
		"web.json":    `{"image":"localhost/web:3"}`,
		"shop.json":   `{"services":{"one":{"image":"localhost/web:1"}}}`,
		"policy.json": `{"profile":"optimize-utilization"}`,
		"kept.json":   `{"image":"localhost/db:1","volumes":[{"name":"data","path":"/data","state":true}]}`,
		"slow.json":   `{"image":"localhost/web:1","node_selector":{"disk":"none"}}`,
		"app.conf":    "a",
	} {
		if err := os.WriteFile(g.dir+"/"+name, []byte(text), 0o600); err != nil {
			g.Fatal(err)
		}
	}
	for _, command := range []string{
		"ensure demo/web --image localhost/web:1 --scale 2", "ensure demo/web --image localhost/web:2 --scale 2",
		"ensure demo/still --image localhost/web:1", "suspend demo/still", "config put demo/app app.conf",
		"ensure demo/kept --file kept.json",
	} {
		if out, code := g.rookery(command); code != 0 {
			g.Fatalf("rookery %s exits with %d: %s", command, code, out)
		}
	}
	if out, code := g.rookery("ensure demo/slow --file slow.json --timeout 1s"); code != 6 {
		g.Fatalf("a service without a node for it: %d: %s", code, out)
	}
}

// rookery runs a command line without a terminal, and returns what it prints and its exit code.
func (g *guide) rookery(words string) (string, int) {
	g.Helper()
	out := g.shell("rookery " + words + " </dev/null; echo \"exit $?\"")
	end := strings.LastIndex(out, "exit ")
	var code int
	if _, err := fmt.Sscanf(out[end:], "exit %d", &code); err != nil {
		g.Fatal(err)
	}
	return out[:end], code
}

func (g *guide) elsewhere(path string, of promised) string {
	switch {
	case of.same != "":
		return "the same: " + of.same
	case of.word == "" || strings.Contains(path, " "):
		return cmp.Or(of.word, "-")
	}
	out, code := g.rookery(of.word)
	_, suggested, _ := strings.Cut(out, "Did you mean this?")
	if code != 2 || !slices.Contains(strings.Fields(suggested), path) {
		g.Errorf("rookery %s exits with %d and does not lead to rookery %s: %s", of.word, code, path, out)
	}
	return of.word
}

func (g *guide) tried(of promised) string {
	if of.change == "" {
		return "-"
	}
	if out, code := g.rookery(of.change + " --dry-run"); code != 7 {
		g.Errorf("rookery %s --dry-run exits with %d: %s", of.change, code, out)
	}
	return "exit 7"
}

func (g *guide) value(of promised) string {
	words := of.value
	if words == "" && of.change != "" {
		words = of.change + " --dry-run"
	}
	if words == "" {
		return "-"
	}
	out, code := g.rookery(words + " --output json 2>/dev/null")
	if code != 0 && code != 7 {
		g.Errorf("rookery %s --output json exits with %d: %s", words, code, out)
	}
	decoder := jsontext.NewDecoder(strings.NewReader(out))
	for values := 0; ; values++ {
		var value jsontext.Value
		if err := json.UnmarshalDecode(decoder, &value); err != nil {
			if rest := strings.TrimSpace(out[decoder.InputOffset():]); rest != "" {
				g.Errorf("rookery %s --output json: %v: %s", words, err, out)
			}
			return fmt.Sprintf("%d values", values)
		}
	}
}

func (g *guide) unknown(of promised) string {
	if of.unknown == "" {
		return "-"
	}
	if out, code := g.rookery(of.unknown); code != of.code {
		g.Errorf("rookery %s exits with %d, want %d: %s", of.unknown, code, of.code, out)
	}
	return fmt.Sprintf("exit %d", of.code)
}

func (g *guide) completed(path string, of promised) string {
	if of.offers == "" {
		return "-"
	}
	if out, _ := g.rookery("__complete " + path + " ''"); !slices.Contains(strings.Fields(out), of.offers) {
		g.Errorf("a shell does not complete rookery %s with %s: %s", path, of.offers, out)
	}
	return of.offers
}

func (g *guide) example(path string) string {
	out, code := g.rookery(path + " --help")
	if _, examples, _ := strings.Cut(out, "Examples:"); code != 0 || !strings.Contains(examples, "  rookery "+path) {
		g.Errorf("rookery %s --help exits with %d, without an example: %s", path, code, out)
	}
	return "yes"
}
