package rookerytest_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

var keepScreens = flag.String("screens", "", "write every screen that is looked at into this `folder`, as text and with its colours")

// desk is a terminal as an operator has it: bash in its own tmux, with the program on its path and the cluster as the bus.
type desk struct {
	t             *testing.T
	cluster       *rookerytest.Cluster
	width, height int
	// folder is where bash is.
	folder string
	socket string
	env    []string
}

// newDesk opens a terminal of this size, which ends with the test.
func newDesk(t *testing.T, cluster *rookerytest.Cluster, width, height int) *desk {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	d := &desk{t: t, cluster: cluster, width: width, height: height, folder: filepath.Join(top, "shop"), socket: filepath.Join(top, "tmux")}
	if err := os.Mkdir(d.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	d.env = append(os.Environ(), "TMUX=", "NO_COLOR=", "LC_ALL=C.UTF-8", "TERM=xterm-256color", "NATS_URL="+cluster.URL,
		"PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"))
	server := newProcess(t, d.client("-D", "-f", "/dev/null"))
	server.cmd.Stdout = server.output
	server.start()
	cluster.Until("tmux listens", func() bool { return d.client("set-option", "-g", "default-terminal", "tmux-256color").Run() == nil })
	d.tmux("new-session", "-d", "-c", d.folder, "-x", strconv.Itoa(width), "-y", strconv.Itoa(height),
		"exec env PS1='[$?] ' HISTFILE= bash --norc --noprofile")
	d.empties()
	return d
}

func (d *desk) client(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", d.socket}, args...)...) //nolint:noctx // ended by the test
	cmd.Env = d.env
	return cmd
}

// tmux sends a command to the tmux server, and returns what it prints.
func (d *desk) tmux(args ...string) string {
	d.t.Helper()
	out, err := d.client(args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// write puts a file beside bash.
func (d *desk) write(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.folder, name), []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// types types a text, and presses these keys.
func (d *desk) types(text string, keys ...string) {
	d.t.Helper()
	if text != "" {
		d.tmux("send-keys", "-l", text)
	}
	for _, key := range keys {
		d.tmux("send-keys", key)
	}
}

// empties clears the screen, and what was on it before.
func (d *desk) empties() {
	d.t.Helper()
	// An empty screen may be the one of before: the shell has to have read the word first.
	d.types("clear")
	d.until("the shell has read it", func(lines []string) bool {
		return strings.HasSuffix(strings.TrimSpace(strings.Join(lines, "\n")), "] clear")
	})
	d.types("", "Enter")
	d.until("the screen is empty", func(lines []string) bool { return strings.Join(lines, "") == "[0]" })
	d.tmux("clear-history")
}

// begins types a command on an empty screen.
func (d *desk) begins(command string) {
	d.t.Helper()
	d.empties()
	d.types(command, "Enter")
}

// ends waits until bash has the prompt with this exit code, and returns all that the command has printed.
func (d *desk) ends(code int) []string {
	d.t.Helper()
	var all []string
	d.until("it ends with "+strconv.Itoa(code), func([]string) bool {
		all = strings.Split(strings.TrimRight(d.tmux("capture-pane", "-p", "-S", "-"), "\n"), "\n")
		last := all[len(all)-1]
		if strings.HasPrefix(last, "[") && len(all) > 1 && last != "["+strconv.Itoa(code)+"]" {
			d.t.Fatalf("it ends with %s, want %d:\n%s", last, code, strings.Join(all, "\n"))
		}
		return strings.HasPrefix(last, "[") && len(all) > 1
	})
	if joined := strings.Split(strings.TrimRight(d.tmux("capture-pane", "-p", "-J", "-S", "-"), "\n "), "\n"); len(joined) != len(all) {
		d.t.Errorf("lines are broken by the terminal:\n%s", strings.Join(all, "\n"))
	}
	return all
}

// runs types a command, waits until it ends with this exit code, and returns all that it has printed.
func (d *desk) runs(name, command string, code int) []string {
	d.t.Helper()
	d.begins(command)
	all := d.ends(code)
	d.keep(name)
	return all
}

// resizes gives the terminal another size.
func (d *desk) resizes(width, height int) {
	d.t.Helper()
	d.width, d.height = width, height
	d.tmux("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
}

// until waits until the screen is so in two looks, one behind the other, and returns its lines: tmux may have half a picture at the first.
func (d *desk) until(what string, so func(lines []string) bool) []string {
	d.t.Helper()
	var seen, before []string
	is := false
	defer func() {
		if !is {
			d.t.Logf("the screen is:\n%s", strings.Join(seen, "\n"))
		}
	}()
	d.cluster.Until(what, func() bool {
		before, seen = seen, strings.Split(strings.TrimSuffix(d.tmux("capture-pane", "-p"), "\n"), "\n")
		is = so(seen) && slices.Equal(before, seen)
		return is
	})
	return seen
}

// shows waits until all of these stand on the screen, and nothing on it is broken.
func (d *desk) shows(words ...string) []string {
	d.t.Helper()
	return d.until("it shows "+strings.Join(words, " | "), func(lines []string) bool {
		return says(lines, words...) && d.isWhole(lines)
	})
}

// isWhole reports whether the screen has its size, and no line of it is broken by the terminal.
func (d *desk) isWhole(lines []string) bool {
	for _, line := range lines {
		if ansi.StringWidth(line) > d.width || strings.ContainsRune(line, '\uFFFD') {
			return false
		}
	}
	joined := strings.TrimSuffix(d.tmux("capture-pane", "-p", "-J"), "\n")
	return len(lines) == d.height && strings.Count(joined, "\n")+1 == d.height
}

// isRestored waits until the terminal is as it was before a picture was drawn, and bash has the prompt with this exit code.
func (d *desk) isRestored(code int) []string {
	d.t.Helper()
	all := d.ends(code)
	if state := d.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}"); state != "0 1 0 0\n" {
		d.t.Errorf("other screen, cursor, mouse and keys are %s", state)
	}
	d.types("echo it is $((6*7))", "Enter")
	d.until("bash is heard", func(lines []string) bool { return says(lines, "it is 42") })
	return all
}

// keep writes the screen, and the lines that have scrolled off its top, into the folder of the flag for screens.
func (d *desk) keep(name string) {
	d.t.Helper()
	if *keepScreens == "" {
		return
	}
	name = filepath.Join(*keepScreens, name+"-"+strconv.Itoa(d.width))
	for file, text := range map[string]string{name + ".txt": d.tmux("capture-pane", "-p", "-S", "-"), name + ".ansi": d.tmux("capture-pane", "-p", "-e")} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // for a developer to look at
			d.t.Fatal(err)
		}
	}
}

// says reports whether all of these stand on the screen, in this order.
func says(lines []string, words ...string) bool {
	text := strings.Join(lines, "\n")
	for _, w := range words {
		_, after, found := strings.Cut(text, w)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// rowsBelow returns the rows below the line that has this head, each by its columns. It fails the test where a cell reaches into the
// column beside it.
func rowsBelow(t *testing.T, lines []string, head string, rows int) []map[string]string {
	t.Helper()
	for i, line := range lines {
		if !strings.Contains(line, head) || i+rows >= len(lines) {
			continue
		}
		columns := columnsOf([]rune(line))
		var all []map[string]string
		for _, row := range lines[i+1 : i+1+rows] {
			all = append(all, cellsOf(t, columns, []rune(line), []rune(row)))
		}
		return all
	}
	t.Fatalf("there are no %d rows below %q:\n%s", rows, head, strings.Join(lines, "\n"))
	return nil
}

// columnsOf returns where the columns of a head begin.
func columnsOf(head []rune) []int {
	var begin []int
	for i, r := range head {
		if r != ' ' && (i == 0 || i > 1 && head[i-1] == ' ' && head[i-2] == ' ') {
			begin = append(begin, i)
		}
	}
	return begin
}

// cellsOf returns the cells of a row by what their columns are called.
func cellsOf(t *testing.T, columns []int, head, row []rune) map[string]string {
	t.Helper()
	part := func(line []rune, from, to int) string {
		return strings.TrimSpace(string(line[min(from, len(line)):min(to, len(line))]))
	}
	cells := map[string]string{}
	for i, begin := range columns {
		end := max(len(head), len(row))
		if i+1 < len(columns) {
			end = columns[i+1]
			if part(row, end-2, end) != "" {
				t.Errorf("in the column %s a cell reaches into the next:\n%s\n%s", part(head, begin, end), string(head), string(row))
			}
		}
		if _, twice := cells[part(head, begin, end)]; !twice {
			cells[part(head, begin, end)] = part(row, begin, end)
		}
	}
	return cells
}
