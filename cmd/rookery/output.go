package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// output is how a command prints: for people, or as JSON for pipes.
type output struct{ format string }

func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "text", "`format`: text or json")
	cmd.PreRunE = func(c *cobra.Command, _ []string) error {
		if o.format != "text" && o.format != "json" {
			return usage(c, fmt.Errorf("--output %q is neither text nor json", o.format))
		}
		return nil
	}
}

func (o *output) json() bool { return o.format == "json" }

// printJSON prints one value, indented where a person looks at it.
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

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// table prints rows under a head, in columns.
func table(out io.Writer, head string, rows []string) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	for _, row := range rows {
		fmt.Fprintln(t, row)
	}
	return t.Flush()
}
