package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
	"golang.org/x/term"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
)

// The output formats of commands.
const (
	formatText = "text" // for operators
	formatWide = "wide" // for operators, with all columns and whole texts
	formatJSON = "json"
	formatYAML = "yaml"
)

// output is the format of a command's output: text for operators, or whole values for scripts.
type output struct{ format string }

func (o *output) flag(cmd *cobra.Command) { o.formats(cmd, formatText, formatJSON, formatYAML) }

// tableFlag adds --output to a command that prints a table.
func (o *output) tableFlag(cmd *cobra.Command) {
	o.formats(cmd, formatText, formatWide, formatJSON, formatYAML)
}

func (o *output) formats(cmd *cobra.Command, known ...string) {
	words := strings.Join(known[:len(known)-1], ", ") + " or " + known[len(known)-1]
	cmd.Flags().StringVarP(&o.format, "output", "o", formatText, "`format`: "+words)
	completed := slices.Clone(known)
	for i, k := range completed {
		if k == pathHelp {
			completed[i] = formatPath
		}
	}
	mustComplete(cmd, "output", completed)
	cmd.PreRunE = func(c *cobra.Command, _ []string) error {
		if !slices.Contains(known, o.format) {
			return usage(c, fmt.Errorf("--output %q is not %s", o.format, words))
		}
		return nil
	}
}

// json reports whether the command prints whole values for scripts, as JSON or YAML.
func (o *output) json() bool { return o.format == formatJSON || o.format == formatYAML }

// printDocument prints a value that a file may hold: as YAML, unless JSON is asked for.
func (o *output) printDocument(out io.Writer, value any) error {
	if o.format == formatText {
		return (&output{formatYAML}).print(out, value)
	}
	return o.print(out, value)
}

// print prints one value for scripts.
func (o *output) print(out io.Writer, value any) error {
	if o.format != formatYAML {
		return printJSON(out, value)
	}
	body, err := yamlOf(value)
	if err != nil {
		return err
	}
	_, err = out.Write(body)
	return err
}

// printEach prints one of several values.
func (o *output) printEach(out io.Writer, value any) error {
	if o.format == formatYAML {
		fmt.Fprintln(out, "---")
	}
	return o.print(out, value)
}

// style returns the width and colours for tables on this output.
func (o *output) style(out io.Writer) grid.Style {
	s := grid.Style{All: o.format == formatWide}
	s.Colour = isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.Width, _ = screenSize(out)
	return s
}

// screenSize returns the size of the terminal in cells, or of what else shows the output; 0 if it is unknown.
func screenSize(out io.Writer) (width, height int) {
	if shown, ok := out.(interface{ size() (width, height int) }); ok {
		return shown.size()
	}
	f, ok := out.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// yamlOf returns a value as YAML, with the names and the order of its JSON.
func yamlOf(value any) ([]byte, error) {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(body, &document); err != nil { // JSON is YAML
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	unfold(&document)
	const indent = 2
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(indent)
	err = errors.Join(encoder.Encode(&document), encoder.Close())
	return text.Bytes(), err
}

// unfold sets a document's style to block style, with quotes only where YAML needs them. Empty lists and objects keep their style, and
// so do texts that YAML 1.1 parsers read as other types: yes, off, 12:30.
func unfold(n *yaml.Node) {
	switch {
	case n.Kind == yaml.ScalarNode:
		if n.Tag != "!!str" || !mistakable(n.Value) {
			n.Style = 0
		}
	case len(n.Content) > 0:
		n.Style = 0
	}
	for _, c := range n.Content {
		unfold(c)
	}
}

func mistakable(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return text != "" && strings.ContainsRune("0123456789+-.", rune(text[0]))
}

// printJSON prints one value, indented on a terminal.
func printJSON(out io.Writer, value any) error {
	options := []json.Options{json.Deterministic(true)}
	if isTerminal(out) {
		options = append(options, jsontext.WithIndent("  "))
	}
	body, err := json.Marshal(value, options...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, string(body))
	return err
}

// folded prints a text. On a terminal it wraps the text, and indents all lines after the first to this cell.
func folded(out io.Writer, text string, below int) {
	screen, _ := screenSize(out)
	fmt.Fprintln(out, strings.Join(grid.Fold(text, screen, below), "\n"))
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// table prints rows under a head, in columns. On a terminal it wraps the last column to fit. Without room for that column, the
// lines after the first of a row begin near the left edge.
func table(out io.Writer, head string, rows []string) error {
	const gap, least, edge = 2, 20, 4
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, gap, ' ', 0)
	fmt.Fprintln(t, head)
	for _, row := range rows {
		fmt.Fprintln(t, row)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	screen, _ := screenSize(out)
	first, _, _ := strings.Cut(text.String(), "\n")
	last := head[strings.LastIndexByte(head, '\t')+1:]
	begin := len(strings.TrimSuffix(first, last))
	if screen == 0 || last == "" {
		_, err := io.WriteString(out, text.String())
		return err
	}
	if screen-begin < least {
		begin = edge
	}
	for line := range strings.Lines(text.String()) {
		for _, folded := range grid.Fold(strings.TrimRight(line, " \n"), screen, begin) {
			fmt.Fprintln(out, folded)
		}
	}
	return nil
}
