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

// agree asks the operator whether to carry out the plan, and returns nil if the answer is yes. With JSON or YAML output it first
// prints the plan on standard error, because the operator has not seen it yet.
func agree(cmd *cobra.Command, out output, show func(io.Writer) error) error {
	in := cmd.InOrStdin()
	if !isTerminal(in) {
		return usage(cmd, errors.New("nothing was done, because there is no terminal to ask on: give --yes to carry out the plan"))
	}
	if out.json() {
		if err := show(os.Stderr); err != nil {
			return err
		}
	}
	return confirmed(cmd, "Carry out this plan?")
}

// confirm asks before a change that cannot be undone. Without a terminal it does not ask and agrees.
func (a *asking) confirm(cmd *cobra.Command, question string) error {
	if a.yes || a.dryRun || !isTerminal(cmd.InOrStdin()) {
		return nil
	}
	return confirmed(cmd, question)
}

// yesFlag adds --yes to a command that asks for confirmation.
func (a *asking) yesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask for confirmation")
}

func confirmed(cmd *cobra.Command, question string) error {
	fmt.Fprint(os.Stderr, question+" [y/N] ")
	answer, err := readLine(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		fmt.Fprintln(os.Stderr) // ends the line of the question
		return &codedError{exitSignal, errors.New("interrupted: nothing was done")}
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// readLine returns the next line, or what precedes the end of the input. It returns the context's error if the context ends first.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	lines := make(chan string, 1)
	go func() { // no context ends a read of a terminal: this goroutine ends with the process
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
