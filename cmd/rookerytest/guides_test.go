package rookerytest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

var writeTranscripts = flag.Bool("write-transcripts", false, "write what the commands of the guides print into the guides")

// TestGuides runs the commands of every guide in deploy/docs, and of events/README.md, in their order, on a `rookery dev --simulated` of three nodes
// that is the guide's own, and compares what they print with what the guide shows. The guide to upgrades has a cluster whose level is not raised yet.
// A block of type console has commands, each on a line with "$ " or on several that end with a backslash, and what they print; in what they print
// "…" stands for any lines. A block of another type whose info string names a file, as in "yaml web.yaml", is written there before the commands that
// follow.
//
// Times, ages, ids and places in the log differ between runs, and the lines of instances that start at once come in any order: lines are
// compared without the first, and without regard to their order.
func TestGuides(t *testing.T) {
	paths, err := filepath.Glob("../../deploy/docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no guides", err)
	}
	for _, path := range append(paths, "../../events/README.md") {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "../../"), ".md")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			blocks := blocksOf(string(text))
			if !slices.ContainsFunc(blocks, func(b block) bool { return b.kind == "console" }) {
				return
			}
			served := developed
			if name == "deploy/docs/upgrade" {
				served = upgraded
			}
			g := startGuide(t, served(t))
			written := strings.Clone(string(text))
			for _, b := range blocks {
				if b.file != "" {
					if err := os.WriteFile(filepath.Join(g.dir, b.file), []byte(b.body), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if b.kind != "console" {
					continue
				}
				if ran := g.run(b); ran != b.body {
					written = strings.Replace(written, b.body, ran, 1)
				}
			}
			if *writeTranscripts && written != string(text) {
				if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// block is a fenced block of a guide.
type block struct {
	kind, file, body string
	line             int
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")

func blocksOf(text string) (blocks []block) {
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		b := block{kind: text[at[2]:at[3]], body: text[at[6]:at[7]], line: strings.Count(text[:at[0]], "\n") + 2}
		if at[4] >= 0 {
			b.file = text[at[4]:at[5]]
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// guide is where the commands of one guide run.
type guide struct {
	*testing.T
	dir string
	env []string
}

func startGuide(t *testing.T, url string) *guide {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cli, err := natsCLI()
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{T: t, dir: t.TempDir(), env: []string{
		"NATS_URL=" + url, "HOME=" + t.TempDir(), "PATH=" + filepath.Dir(path) + ":" + filepath.Dir(cli) + ":/usr/bin:/bin", "NO_COLOR=1", "TZ=UTC",
	}}
	for deadline := time.Now().Add(time.Minute); strings.Count(g.shell("rookery nodes"), " ready ") < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("three nodes do not join: %s", g.shell("rookery nodes"))
		}
	}
	return g
}

// developed runs `rookery dev` with three simulated nodes, and returns the URL of its server.
func developed(t *testing.T) string {
	t.Helper()
	dev := startProcess(t, "dev", "--simulated", "--nodes", "3", "--listen", "127.0.0.1:0")
	t.Cleanup(func() {
		_ = dev.cmd.Process.Signal(os.Interrupt)
		<-dev.ended
	})
	return awaitMatch(t, dev, regexp.MustCompile(`NATS_URL=(\S+);`))
}

// upgraded runs a cluster that began at level 0, and whose programs are of this version by now. It returns the URL of its server.
func upgraded(t *testing.T) string {
	t.Helper()
	_, url := startServer(t, t.TempDir(), anyPort)
	cluster := rookerytest.Start(t, rookerytest.WithServer(url), rookerytest.WithoutCoordinator(), rookerytest.WithNodes(0))
	foundsAtLevelZero(t, cluster.Bus())
	return rookerytest.Start(t, rookerytest.WithServer(url)).URL
}

// foundsAtLevelZero begins a cluster as a program from before there were levels does.
func foundsAtLevelZero(t testing.TB, b bus.Bus) {
	t.Helper()
	told, err := b.Subscribe(events.EventRoot + ".cluster.adopted")
	if err != nil {
		t.Fatal(err)
	}
	defer told.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- runner.New(runner.Config{Bus: b, Name: "before", Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	}()
	receive(t, told.Messages())
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// awaitMatch waits until the process has printed what matches, and returns its first group.
func awaitMatch(t *testing.T, p *process, want *regexp.Regexp) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if found := want.FindStringSubmatch(p.output.String()); found != nil {
			return found[1]
		}
		select {
		case <-p.ended:
			t.Fatalf("%v has ended:\n%s", p.cmd.Args, p.output)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%v does not print %s:\n%s", p.cmd.Args, want, p.output)
	return ""
}

// run runs the commands of a block, and returns the block as it is then.
func (g *guide) run(b block) string {
	g.Helper()
	var ran strings.Builder
	for _, c := range commandsOf(b.body) {
		printed := g.shell(c.command)
		fmt.Fprint(&ran, c.shown)
		if strings.Contains(c.printed, "…") {
			ran.WriteString(c.printed)
		} else {
			ran.WriteString(printed)
		}
		if !alike(c.printed, printed) && (!*writeTranscripts || strings.Contains(c.printed, "…")) {
			g.Errorf("line %d: %s\nprints\n%s\nand the guide shows\n%s\n(make transcripts writes what is printed)", b.line, c.command, printed, c.printed)
		}
	}
	return ran.String()
}

// shell runs a command as a reader would, and returns what it prints.
func (g *guide) shell(command string) string {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env = g.dir, g.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		g.Fatalf("%s: %v", command, err)
	}
	text := strings.TrimRight(trailing.ReplaceAllString(out.String(), ""), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

var trailing = regexp.MustCompile(`(?m) +$`)

// shownCommand is a command of a block, as it is shown, and what it prints.
type shownCommand struct{ command, shown, printed string }

func commandsOf(body string) (all []shownCommand) {
	more := false
	for line := range strings.Lines(body) {
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case is:
			all = append(all, shownCommand{command: command, shown: line})
		case len(all) == 0:
			continue
		case more:
			last := &all[len(all)-1]
			last.command, last.shown = last.command+line, last.shown+line
		default:
			all[len(all)-1].printed += line
			continue
		}
		more = strings.HasSuffix(line, "\\\n")
	}
	return all
}

// varying is what differs between two runs.
var varying = regexp.MustCompile(strings.Join([]string{
	`(?m)^\d+ +`, `\d{4}-\d\d-\d\dT[\d:.]+Z`, `(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:\.\d+)?`, `\d{4}-\d\d-\d\d`, // times, with the date around midnight
	`\b[\d.]+(?:ns|µs|ms|s|m|h|d)\b`, `\b[0-9a-f]{12,}\b`, `\b[a-z0-9A-Z]{22}\b`, // ages, hashes, ids
	`"(?:sequence|log_sequence|seq)":\d+`, `\bsequence \d+`, `\bround \d+`, `\b(?:127\.0\.0\.1):\d+`, `\bnats-\d+\b`,
	`\b[\w.-]+@[\w.-]+`, ` +`, `─+`, `\bbackup-\d{8}T[\d.]+Z-\d+\.json`, `\b[\d.]+ [KM]iB\b`,
	`\bread from \d+, statuses from \d+`,
}, "|"))

// alike reports whether what is printed is what is shown, but for what differs between two runs; "…" is shown for any lines.
func alike(shown, printed string) bool {
	lines := func(text string) []string {
		return slices.Sorted(slices.Values(strings.Split(varying.ReplaceAllString(strings.TrimRight(text, "\n"), " "), "\n")))
	}
	want, got := lines(shown), lines(printed)
	if !slices.Contains(want, "…") {
		return slices.Equal(want, got)
	}
	for _, line := range want {
		if line != "…" && !slices.Contains(got, line) {
			return false
		}
	}
	return true
}
