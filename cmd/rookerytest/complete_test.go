package rookerytest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// TestShellsCompleteLiveNames asks for what a shell asks for, with a bus and without one.
func TestShellsCompleteLiveNames(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(2))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":1}`)
	cluster.Ensure("shop/db", `{"image":"localhost/db:1","scale":1}`)
	cluster.Command("shop/db", "restart", `{}`)
	ended, goes := events.Message{Subject: "rookery.cmd.group.demo.old.ensure"}, events.Message{Subject: "rookery.cmd.group.demo.going.ensure"}
	ended.Body = []byte(`{"services":{"one":{"image":"localhost/web:1"}}}`)
	goes.Body = []byte(`{"services":{"two":{"image":"localhost/web:1","node_selector":{"disk":"tape"}}}}`)
	for _, m := range []events.Message{ended, goes} {
		if _, err := cluster.Bus().Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string]string{
		"scale ":           "demo/one demo/two demo/web shop/db",
		"scale d":          "demo/one demo/two demo/web",
		"scale demo/web ":  "",
		"ps s":             "shop shop/db",
		"ops ":             "shop shop/db",
		"promote ":         "shop/db",
		"nodes ":           "node-0 node-1",
		"drain node-1":     "node-1",
		"apply ":           "demo shop",
		"group cancel ":    "demo/going",
		"drop --busy ":     "reject queue supersede",
		"ps --output ":     "text wide json yaml name jsonpath=",
		"drop --output ":   "text json yaml",
		"explain demo/web": "demo/web",
	} {
		cluster.Until("a shell completes "+words+" with "+want, func() bool {
			args := append([]string{"__complete", "--server=" + cluster.URL}, strings.Split(words, " ")...)
			out, code := rookery(t, args...)
			offered, _, _ := strings.Cut(out, ":")
			return code == 0 && strings.Join(strings.Fields(offered), " ") == want
		})
	}
	out, code := rookery(t, "__complete", "--server=nats://127.0.0.1:1", "scale", "")
	if offered, _, _ := strings.Cut(out, ":"); code != 0 || offered != "" {
		t.Errorf("without a bus it ends with %d: %s", code, out)
	}
}

// TestBashTakesTheCompletion makes bash complete a name, as bash does when an operator presses the tab key.
func TestBashTakesTheCompletion(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(0))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":0}`)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	script, code := rookery(t, "completion", "bash")
	if code != 0 {
		t.Fatalf("there is no completion: %s", script)
	}
	file := filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	const press = `_get_comp_words_by_ref() { cur="${COMP_WORDS[COMP_CWORD]}"; prev=; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
_init_completion() { _get_comp_words_by_ref; }; __ltrim_colon_completions() { :; }; compopt() { :; }
source "$1"; COMP_WORDS=(rookery scale de); COMP_CWORD=2; COMP_LINE="rookery scale de"; COMP_POINT=16; COMP_TYPE=9; __start_rookery; echo "${COMPREPLY[@]}"`
	cluster.Until("bash completes it", func() bool { // what takes longer than a second completes nothing, and is pressed for again
		cmd := exec.CommandContext(t.Context(), "bash", "-c", press, "bash", file)
		cmd.Env = append(os.Environ(), "NATS_URL="+cluster.URL, "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out)) == "demo/web"
	})
}
