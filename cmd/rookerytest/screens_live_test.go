package rookerytest_test

import (
	"slices"
	"strconv"
	"strings"
)

// top looks at the live screen, of this size and of others, and leaves it in both ways.
func (d *desk) top() {
	width, height := d.width, d.height
	d.begins("rookery top")
	lines := d.shows("rookery top   3 nodes   6 services", "NODES ", "SERVICES ", "OPERATIONS ", "promote", "EVENTS", "tab ↑↓  ⏎ inspect")
	d.holdsTop(lines)
	d.keep("top")
	for _, size := range [][2]int{{120, 30}, {280 - width, 74 - height}, {width, height}} {
		d.resizes(size[0], size[1])
		lines = d.until("it is drawn for the other size", func(lines []string) bool {
			return d.isWhole(lines) && d.isDrawnFor(lines) && says(lines, "promote")
		})
		d.holdsTop(lines)
	}
	d.types("?")
	d.shows("rookery top shows the cluster, and every change at once.", "Press any key to return.", "tab ↑↓")
	d.keep("top-help")
	d.types("x/promote", "Enter", "Tab")
	d.shows("promote", `filtered by "promote"`)
	d.keep("top-filtered")
	for _, open := range []struct{ key, verb, shows string }{
		{"Enter", "inspect", "GENERATION"}, {"e", "events", "instance.online"}, {"l", "logs", ""}, {"x", "explain", "is on node-"}, {"u", "stats", "MEMORY"},
	} {
		d.types("", open.key)
		d.shows("▸ "+open.verb+" demo/web", open.shows, "esc back")
		d.keep("top-" + open.verb)
		d.types("", "Escape")
		d.shows("▸ SERVICES")
	}
	d.types("q")
	d.inTurn(d.isRestored(0), "[0] rookery top\n[0]")
	d.begins("rookery top")
	d.shows("demo/web", "promote")
	d.types("", "C-c")
	d.isRestored(130)
}

// isDrawnFor reports whether the lines fill a screen of this size: it begins with its title, its rules are as wide, and its last line is
// the help.
func (d *desk) isDrawnFor(lines []string) bool {
	isRule := func(line string) bool {
		return strings.HasPrefix(line, "  OPERATIONS ") && strings.HasSuffix(line, "─") && len([]rune(line)) == d.width
	}
	return strings.HasPrefix(lines[0], "rookery top") && slices.ContainsFunc(lines, isRule) && strings.HasPrefix(lines[len(lines)-1], "tab ↑↓")
}

// holdsTop fails the test where the panes do not say what there is, or their tables are broken.
func (d *desk) holdsTop(lines []string) {
	d.t.Helper()
	if clock := []rune(lines[0]); len(clock) != d.width {
		d.t.Errorf("the clock is not at the right end of a screen of %d: %q", d.width, lines[0])
	}
	operations := rowsBelow(d.t, lines, "SERVICE        OPERATION", 1)
	if o := operations[0]; o["SERVICE"] != "demo/web" || o["PHASE"] != "promote" || !strings.HasPrefix(o["WAITS FOR"], "rookery") {
		d.t.Errorf("it shows the operations %v", operations)
	}
	// On a wide screen nodes and services stand side by side.
	for _, row := range [][]string{{"node-1", "ready", "127.0.0.1", "0 of 8"}, {"demo/web", "updating", "1/3"}} {
		if !slices.ContainsFunc(lines, func(line string) bool { return says([]string{line}, row...) }) {
			d.t.Errorf("no line has %q:\n%s", row, strings.Join(lines, "\n"))
		}
	}
}

// watches looks at instances while they change: each stays on its line.
func (d *desk) watches() {
	d.begins("rookery ps demo --watch")
	rows := func(lines []string) []map[string]string { return rowsBelow(d.t, lines, "SERVICE  ", 5) }
	before := rows(d.shows("demo/bad", "demo/database", "demo/web       2", "waits for rookery promote"))
	d.keep("watch")
	d.cluster.Command("demo/web", "promote", `{}`)
	lines := d.until("all slots are replaced", func(lines []string) bool {
		return says(lines, "demo/web       2") && !says(lines, "phase") && d.isWhole(lines) && !says(lines, "next")
	})
	after := rows(lines)
	if before[2]["SERVICE"]+before[2]["ORDINAL"] != "demo/web0" || after[4]["SERVICE"]+after[4]["ORDINAL"] != "demo/web2" || before[4]["ADDRESSES"] == after[4]["ADDRESSES"] {
		d.t.Errorf("the rows are %v, and after the update %v", before, after)
	}
	d.cluster.Command("demo/web", "scale", `{"scale":4}`)
	d.shows("demo/web       2", "demo/web       3")
	d.cluster.Command("demo/web", "scale", `{"scale":1}`)
	d.until("the removed slots are no longer drawn", func(lines []string) bool { return !says(lines, "demo/web       1") && lines[5] == "" })
	d.keep("watch-scaled")
	width, height := d.width, d.height
	d.resizes(40, 12)
	d.until("it is drawn for a small screen", func(lines []string) bool {
		return d.isWhole(lines) && says(lines, "SERVICE", "ORDINAL", "STATUS", "demo/web") && !says(lines, "ADDRESSES")
	})
	d.resizes(width, height)
	d.shows("ADDRESSES", "demo/web")
	d.types("", "C-c")
	d.inTurn(d.isRestored(130), "[0] rookery ps demo --watch\nSERVICE  ", "demo/web       0", "\nrookery: interrupted\n[130]")
	d.keep("watch-ended")
}

// completes presses the key that has bash complete names.
func (d *desk) completes() {
	d.write("rc", `_get_comp_words_by_ref() { cur="${COMP_WORDS[COMP_CWORD]}"; prev=; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
_init_completion() { _get_comp_words_by_ref; }
__ltrim_colon_completions() { :; }
source <(rookery completion bash)
`)
	d.begins("source rc")
	d.ends(0)
	for _, row := range []struct {
		typed string
		want  []string
	}{
		{"rookery scale demo/w", []string{"rookery scale demo/web"}},
		{"rookery scale ", []string{"demo/bad", "demo/database", "demo/web", "shop/api", "shop/db", "shop/web"}},
		{"rookery ps shop", []string{"shop/api", "shop/db", "shop/web"}},
		{"rookery drain node-", []string{"node-0", "node-1", "node-2"}},
		{"rookery services --output ", []string{"json", "text", "wide", "yaml"}},
	} {
		d.empties()
		d.untilOffered(row.typed, row.want)
		d.keep("complete-" + strings.ReplaceAll(strings.TrimSpace(row.typed), "/", "_"))
		d.types("", "C-u")
	}
}

// untilOffered presses the key behind what is typed until bash offers these names. The program offers none where the bus does not answer
// at once, as on a busy machine, so that an operator too presses it again.
func (d *desk) untilOffered(typed string, names []string) {
	d.t.Helper()
	tries, heard := 0, ""
	try := func() {
		tries++
		heard = "#" + strconv.Itoa(tries) // bash has read the keys before it
		d.types(typed, "Tab", "Tab", heard)
	}
	try()
	d.until("names are offered behind "+typed, func(lines []string) bool {
		if !says(lines, heard) {
			return false
		}
		missing := slices.ContainsFunc(names, func(name string) bool { return !says(lines, name) })
		if missing {
			d.types("", "C-u")
			try()
		}
		return !missing
	})
}
