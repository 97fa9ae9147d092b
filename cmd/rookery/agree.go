package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// agree asks whether a plan, which people have before them, shall be carried out, and returns nil where it shall. Where the
// output is for a program, the plan is printed for them first.
func agree(cmd *cobra.Command, out output, show func(io.Writer) error) error {
	in := cmd.InOrStdin()
	if !isTerminal(in) {
		return usage(cmd, errors.New("nothing was done: there is no terminal to ask on: give --yes to have the plan carried out"))
	}
	if out.json() {
		if err := show(os.Stderr); err != nil {
			return err
		}
	}
	return confirmed(cmd, "Go on?")
}

// confirm asks before something that cannot be undone, where there is a terminal to ask on.
func (a *asking) confirm(cmd *cobra.Command, question string) error {
	if a.yes || a.dryRun || !isTerminal(cmd.InOrStdin()) {
		return nil
	}
	return confirmed(cmd, question)
}

// yesFlag is that of a command that asks.
func (a *asking) yesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "go on without asking")
}

func confirmed(cmd *cobra.Command, question string) error {
	fmt.Fprint(os.Stderr, question+" [y/N] ")
	answer, err := readLine(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		fmt.Fprintln(os.Stderr) // the question stays as it was
		return &codedError{exitSignal, errors.New("interrupted: nothing was done")}
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// readLine returns the next line, or what there is before the end, or the error of a context that ends first.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	lines := make(chan string, 1)
	go func() { // a read of a terminal knows no context: it ends with the process; its end is no answer
		line, _ := bufio.NewReader(in).ReadString('\n')
		lines <- line
	}()
	select {
	case line := <-lines:
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
