package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
)

// helpThatFits wraps the help of a command, and of those below it, to the width of the terminal.
func helpThatFits(cmd *cobra.Command) {
	show := cmd.HelpFunc()
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		out := c.OutOrStdout()
		var text bytes.Buffer
		c.SetOut(&text)
		show(c, args)
		c.SetOut(out)
		screen, _ := screenSize(out)
		for _, line := range fitted(text.String(), screen) {
			fmt.Fprintln(out, line)
		}
	})
}

// described matches the start of a line with a flag or a command, up to its description.
var described = regexp.MustCompile(`^ +\S.*? {3,}`)

// fitted wraps the lines of a help to a screen of this width; 0 does not wrap. It refills paragraphs, which are lines that begin with a
// word. It indents the description of a flag below its start. Examples stay unchanged, so that operators can copy them.
func fitted(text string, screen int) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if screen == 0 {
		return lines
	}
	var all []string
	var paragraph []string
	for _, line := range append(lines, "") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		if len(paragraph) > 0 {
			all, paragraph = append(all, grid.Fold(strings.Join(paragraph, " "), screen, 0)...), nil
		}
		if said := len(described.FindString(line)); said > 0 {
			all = append(all, grid.Fold(line, screen, said)...)
		} else {
			all = append(all, line)
		}
	}
	return all[:len(all)-1]
}
