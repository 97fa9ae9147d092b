package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

// commandTree returns all commands except cobra's own and hidden ones, by their full names.
func commandTree() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			if !below.Hidden {
				all[below.CommandPath()] = below
			}
			walk(below)
		}
	}
	walk(root(&link{}))
	return all
}

// TestCommandsHaveExamples checks that the help of every command has an example, with existing commands and flags.
func TestCommandsHaveExamples(t *testing.T) {
	for path, c := range commandTree() {
		shown := 0
		for line := range strings.Lines(c.Example) {
			typed, ours := strings.CutPrefix(line, "  rookery ")
			if !ours {
				continue
			}
			if strings.HasPrefix(line, "  "+path) {
				shown++
			}
			for part := range strings.SplitSeq("rookery "+typed, "; ") {
				typesWhatThereIs(t, path, part)
			}
		}
		if shown == 0 {
			t.Errorf("%s --help has no example of it", path)
		}
	}
}

// asks matches an example of a command by the nats CLI: its subject, and its body unless that comes from a file.
var asks = regexp.MustCompile(`nats req (rookery\.cmd\.\S+) (?:'(.*)'|"\$)`)

// TestEachCommandOnTheBusIsShown checks that the help has an example with the nats CLI for every command on the bus, with a valid body.
// It also checks that each verb of services and groups has a command here.
func TestEachCommandOnTheBusIsShown(t *testing.T) {
	tree, shown := commandTree(), map[string]bool{}
	for path, c := range tree {
		for _, example := range asks.FindAllStringSubmatch(c.Example, -1) {
			words := strings.Split(example[1], ".")
			shown[words[2]+"."+words[len(words)-1]] = true
			if r := events.ParseRequest(events.Message{Subject: example[1], Body: []byte(example[2])}); r.Rejection != nil && example[2] != "" {
				t.Errorf("an example of %s is refused: %s: %s", path, example[0], r.Rejection.Reason)
			}
		}
	}
	for _, sample := range events.Samples() {
		command, is := sample.(events.Command)
		if !is {
			continue
		}
		kind := command.Kind()
		if !shown[kind.Word()] {
			t.Errorf("no help has an example of %s", kind.Word())
		}
		path := map[string]string{"service": "rookery " + kind.Name, "group": "rookery group " + kind.Name}[kind.Thing]
		if path != "" && tree[path] == nil {
			t.Errorf("there is no %s", path)
		}
	}
}

// typesWhatThereIs fails the test if an example has a command or a flag that does not exist.
func typesWhatThereIs(t *testing.T, path, typed string) {
	t.Helper()
	typed, _, _ = strings.Cut(typed, "   ") // the rest of the line is a description
	if end := strings.IndexAny(typed, "|<>;"); end >= 0 {
		typed = typed[:end]
	}
	words := strings.Fields(typed)
	if len(words) == 0 || words[0] != "rookery" {
		return
	}
	c, rest, err := root(&link{}).Find(words[1:])
	if err == nil && c.HasParent() {
		err = c.ParseFlags(rest)
	}
	if err != nil || !c.HasParent() {
		t.Errorf("%s --help has %q, but this command does not exist: %v", path, typed, err)
	}
}

// printsForPeople lists the commands without output for scripts, and why.
var printsForPeople = map[string]string{
	"rookery archive":             "writes files, and prints its progress",
	"rookery bus adopt":           "says one sentence",
	"rookery capsule":             "writes a file that is JSON",
	"rookery coordinator":         "runs until it is stopped",
	"rookery config get":          "prints a config as it is",
	"rookery config put":          "says one sentence",
	"rookery config rm":           "says nothing",
	"rookery dev":                 "runs until it is stopped",
	"rookery init":                "prints a file",
	"rookery schema":              "prints a file that is JSON",
	"rookery secure init":         "writes files, and says what to do with them",
	"rookery secure adopt":        "writes files, and says what to do with them",
	"rookery secure renew":        "writes files, and says what to do with them",
	"rookery secure rotate":       "writes files, and says what to do with them",
	"rookery user add":            "writes files, and says one sentence",
	"rookery user rm":             "says one sentence",
	"rookery user rotate":         "writes files, and says one sentence",
	"rookery validate":            "says one sentence of each document",
	"rookery exec":                "prints the output of another program",
	"rookery install server":      "says one line of each step",
	"rookery install coordinator": "says one line of each step",
	"rookery install node":        "says one line of each step",
	"rookery cluster up":          "says one line of each step",
	"rookery cluster upgrade":     "says one line of each step",
	"rookery uninstall":           "says one line of each step",
	"rookery node":                "runs until it is stopped",
	"rookery node join":           "writes files, and says two sentences",
	"rookery node rotate":         "writes files, and says one sentence",
	"rookery top":                 "is drawn on a terminal",
}

// TestCommandsPrintValuesForScripts checks that every other command prints JSON and YAML too, and that tables have the format wide.
func TestCommandsPrintValuesForScripts(t *testing.T) {
	all := commandTree()
	lists := []string{"rookery events", "rookery nodes", "rookery ops", "rookery ps", "rookery replay", "rookery services"}
	for path, c := range all {
		if c.HasSubCommands() {
			continue
		}
		flag := c.Flags().Lookup("output")
		if _, people := printsForPeople[path]; people != (flag == nil) {
			t.Errorf("%s has --output: %v; it is listed in printsForPeople: %v", path, flag != nil, people)
			continue
		}
		if flag == nil {
			continue
		}
		formats := []string{formatText, formatJSON, formatYAML}
		if slices.Contains(lists, path) {
			formats = append(formats, formatWide)
		}
		for _, format := range append(formats, "xml") {
			if err := c.Flags().Set("output", format); err != nil {
				t.Fatal(err)
			}
			if err := c.PreRunE(c, nil); (err == nil) != (format != "xml") {
				t.Errorf("%s --output %s: %v", path, format, err)
			}
		}
	}
	for _, path := range append(slices.Collect(maps.Keys(printsForPeople)), lists...) {
		if all[path] == nil {
			t.Errorf("there is no %s", path)
		}
	}
}

// TestChangesCanBeTriedFirst holds every command that asks for a change to have --dry-run.
func TestChangesCanBeTriedFirst(t *testing.T) {
	for path, c := range commandTree() {
		waits, tries := c.Flags().Lookup("timeout") != nil, c.Flags().Lookup("dry-run") != nil
		if slices.Contains([]string{"rookery uninstall", "rookery cluster up", "rookery cluster upgrade"}, path) { // they change hosts, and wait for no command
			continue
		}
		if waits != tries {
			t.Errorf("%s waits for the end of a command: %v; it has --dry-run: %v", path, waits, tries)
		}
	}
	for _, verb := range events.Verbs {
		if c, _, err := root(&link{}).Find([]string{verb}); err != nil || c.Flags().Lookup("dry-run") == nil {
			t.Errorf("%s cannot be tried first", verb)
		}
	}
}

// TestWordsOfOtherToolsLeadToOurs types what another tool calls a command, as a word and as an alias.
func TestWordsOfOtherToolsLeadToOurs(t *testing.T) {
	for name, words := range elsewhere {
		for _, word := range words {
			if !slices.Contains(root(&link{}).SuggestionsFor(word), name) {
				t.Errorf("rookery %s does not lead to %s", word, name)
			}
		}
	}
	for alias, name := range map[string]string{"rm": "drop", "delete": "drop", "ls": "services"} {
		if c, _, err := root(&link{}).Find([]string{alias}); err != nil || c.Name() != name {
			t.Errorf("rookery %s is not %s: %v", alias, name, err)
		}
	}
}
