package rookerytest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events/bus"
)

// compose runs apply on a Compose file in a folder named shop, whose name is the project's.
func compose(t *testing.T, cluster *rookerytest.Cluster, file string, args ...string) (string, int) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "compose.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return rookery(t, append([]string{"apply", "-f", path, "--server", cluster.URL}, args...)...)
}

// shopFile is a project of which one service comes after two others, and reads a config.
const shopFile = `
services:
  web:
    image: localhost/web:1
    deploy: {replicas: 2}
    configs: [{source: web, target: /etc/web.conf}]
    depends_on: [api, db]
  api: {image: localhost/api:1, depends_on: [db]}
  db: {image: localhost/db:1}
configs: {web: {content: "hello $$world"}}
`

// TestApplyOfAComposeFile follows a project from nothing to nothing. Apply makes it one group in the order of depends_on and puts its
// config once. It sends no command for what already is as the file says.
func TestApplyOfAComposeFile(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	out, code := compose(t, cluster, shopFile, "--yes")
	for _, want := range []string{
		"Plan for shop", "config shop.web-", ": 12 bytes, to write", "3 to create", "is written\n", "group.started of db; then api; then web", "command 1 succeeded",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("exit %d, and does not say %q: %s", code, want, out)
		}
	}
	if strings.Contains(out, "hello") {
		t.Errorf("the value of a config is said: %s", out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	bucket, err := cluster.Bus().Bucket(ctx, bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := bucket.All(ctx)
	if err != nil || len(entries) != 1 || string(entries[0].Value) != "hello $world" {
		t.Errorf("%v: the bucket has %v", err, entries)
	}
	out, code = compose(t, cluster, shopFile, "--output", "json")
	var again struct {
		Steps   []struct{ Action string }
		Configs []struct{ Action string }
	}
	if err := json.Unmarshal([]byte(out), &again); err != nil || code != 0 || len(again.Steps) != 3 || len(again.Configs) != 1 || again.Configs[0].Action != "unchanged" {
		t.Errorf("applied again: exit %d, %v: %s", code, err, out)
	}
	for _, s := range again.Steps {
		if s.Action != "unchanged" {
			t.Errorf("applied again: %s", out)
		}
	}
	if n := stored(t, cluster); n != 1 {
		t.Errorf("%d commands were published, want one for the group", n)
	}
	if out, code := compose(t, cluster, strings.Replace(shopFile, "hello", "good day", 1), "--yes"); code != 0 ||
		!strings.Contains(out, "configs[0].name") || !strings.Contains(out, "1 to change, 2 unchanged") {
		t.Errorf("with another config: exit %d: %s", code, out)
	}
	if out, code := compose(t, cluster, "name: shop\nservices: {db: {image: localhost/db:1}}\n", "--prune", "--yes"); code != 0 || !strings.Contains(out, "2 to drop") {
		t.Errorf("without two of them: exit %d: %s", code, out)
	}
	if state := cluster.State(); state.Services != 1 {
		t.Errorf("there are %d services, want db", state.Services)
	}
	cluster.CheckReplay()
}

// TestApplyOfAComposeFileThatAsksForMore applies files with keys that Rookery does not support. Apply fails, or lists these keys when the
// operator allows that.
func TestApplyOfAComposeFileThatAsksForMore(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	file := "services:\n  web:\n    image: localhost/web:1\n    privileged: true\n    environment: {URL: 'http://db:80'}\n    expose: ['80']\n  db:\n    image: localhost/db:1\n    build: .\n"
	out, code := compose(t, cluster, file, "--yes")
	for _, want := range []string{
		"compose.yaml:4: service web: services.web.privileged is true: Rookery runs no privileged instances", "compose.yaml:9: service db: services.db.build",
		"nothing was done: Rookery does not support 2 keys",
	} {
		if code != 1 || !strings.Contains(out, want) || stored(t, cluster) != 0 {
			t.Errorf("exit %d, and does not say %q: %s", code, want, out)
		}
	}
	out, code = compose(t, cluster, file, "--yes", "--lenient")
	for _, want := range []string{
		"Skipped, because Rookery does not support it:\n  ", "services.web.privileged", "services.db.build", "Different from Compose:\n  ",
		"it seems to name the service db", "services.web.expose[0] is \"80\"", "2 to create",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, and does not say %q: %s", code, want, out)
		}
	}
	for _, c := range []struct{ file, want string }{
		{"services: {web: {imag: a}}", "services.web.imag"},
		{"services: {web: {image: a, deploy: {replicas: 20000}}}", "web.scale"},
		{"services: {web: {image: a, x-rookery: {imag: b}}}", `there is no field "imag": did you mean "image"?`},
		{"name: my_shop\nservices: {web: {image: a}}", `"my_shop"`},
	} {
		if out, code := compose(t, cluster, c.file, "--yes"); code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d: %s", c.file, code, out)
		}
	}
}

// TestApplyTakesYAML applies a list of services in YAML that names no namespace.
func TestApplyTakesYAML(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	file := filepath.Join(t.TempDir(), "services.yaml")
	if err := os.WriteFile(file, []byte("web:\n  image: localhost/web:1\n  scale: 2\n  env: {A: b}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := rookery(t, "apply", "-f", file, "--server", cluster.URL); code != 2 || !strings.Contains(out, "do not name a namespace") {
		t.Errorf("without a namespace: exit %d: %s", code, out)
	}
	for _, want := range []string{"1 to create", "1 unchanged, nothing to do"} {
		if out, code := rookery(t, "apply", "demo", "-f", file, "--server", cluster.URL, "--yes"); code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, and does not say %q: %s", code, want, out)
		}
	}
}
