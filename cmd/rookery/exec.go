package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
	"github.com/rookery-project/rookery/projections/views"
)

// execution is a command that the operator runs in an instance.
type execution struct {
	target          target
	command         []string
	input, terminal bool
	in              *os.File
	out, err        io.Writer
	// wrote says that the command has written output.
	wrote bool
}

func execCommand(l *link) *cobra.Command {
	var x execution
	cmd := &cobra.Command{
		Use:   "exec [-it] NAMESPACE/NAME[/ORDINAL] [--] COMMAND [ARGUMENT...]",
		Short: "Run a command in the container of an instance",
		Long: `Run a command in the container of an instance, on any node, and exit with its exit code. Without an ordinal, exec picks the serving
instance with the lowest ordinal and names it on standard error.

With -i the command reads standard input. With -t it runs on a terminal, which follows the size of yours. The command also ends
when you press Ctrl-C (without -it), when rookery exec is killed, or after 10 seconds without the bus. The node then sends it SIGHUP
on a terminal, else SIGTERM, and SIGKILL 3 seconds later.

Input and output travel over the bus. Rookery stores neither them nor the command.

Exit codes: the command's own; 125 the session failed: the command did not start, or its exit code is unknown; 126 the container cannot
run the command; 127 the container does not have the command; 1 no instance found, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery exec demo/web -- /web -check
  rookery exec -it demo/web/2 -- sh
  tar c site | rookery exec -i demo/web -- tar x -C /srv
To find the instance and its node with the nats CLI:
  nats req rookery.api.exec '{"service":"demo/web"}'`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVarP(&x.input, "interactive", "i", false, "pass standard input to the command")
	cmd.Flags().BoolVarP(&x.terminal, "tty", "t", false, "run the command on a terminal")
	cmd.Flags().SetInterspersed(false) // the arguments behind the instance belong to the command
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && args[1] == "--" {
			args = slices.Delete(args, 1, 2)
		}
		if len(args) < 2 {
			return usage(cmd, errors.New("exec needs an instance and a command, as in rookery exec demo/web -- /web -check"))
		}
		var err error
		if x.target, err = parseTarget(args[0]); err != nil {
			return usage(cmd, err)
		}
		x.command, x.in, x.out, x.err = args[1:], os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
		if x.terminal && !isTerminal(x.in) {
			return usage(cmd, errors.New("-t needs a terminal, but standard input is not one: omit -t"))
		}
		b, done, err := l.open("rookery exec")
		if err != nil {
			return err
		}
		defer done()
		return x.run(cmd.Context(), b)
	}
	return cmd
}

// run runs the command. It returns an error with the exit code, unless that is 0.
func (x *execution) run(ctx context.Context, b *bus.JetStream) error {
	i, err := x.choose(ctx, b)
	if err != nil {
		return err
	}
	asked := events.ExecRequest{Command: x.command, Stdin: x.input}
	if x.terminal {
		size, err := sizeOf(x.in)
		if err != nil {
			return err
		}
		asked.Terminal = &size
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	c, err := session.Open(ctx, b, events.SessionSubject(b.User(), i.Node, events.SessionExec, idOf(i)), body)
	if errors.Is(err, bus.ErrNoAnswer) {
		err = fmt.Errorf("the node does not answer: see `rookery nodes`")
	}
	code := int32(0)
	if err == nil {
		code, err = x.converse(ctx, c)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &codedError{events.ExitExecFailed, fmt.Errorf("run the command in %s on %s: %w", idOf(i), i.Node, err)}
	}
	return x.outcome(i, code)
}

// outcome returns an error with the command's exit code, unless that is 0.
func (x *execution) outcome(i views.Instance, code int32) error {
	switch {
	case code == 0:
		return nil
	case !x.wrote && notRun[code] != "":
		return &codedError{int(code), fmt.Errorf("run %q in %s on %s: %s (exit code %d)", x.command[0], idOf(i), i.Node, notRun[code], code)}
	}
	return &endedError{code}
}

// notRun says why a command did not run, by exit code. It applies if the command wrote nothing, because Podman does not always
// explain the exit code itself.
var notRun = map[int32]string{
	events.ExitNotExecutable:  "the container cannot run it: it is not a program, or not executable",
	events.ExitCommandMissing: "the container does not have this command",
}

// endedError is the exit code of a command that ran. It needs no message, because the command wrote its own.
type endedError struct{ code int32 }

func (e *endedError) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", e.code)
}

// choose returns the instance in which to run the command.
func (x *execution) choose(ctx context.Context, b *bus.JetStream) (views.Instance, error) {
	if err := x.target.check(ctx, b); err != nil {
		return views.Instance{}, err
	}
	there, err := x.target.instances(ctx, b)
	if err != nil {
		return views.Instance{}, err
	}
	serves := func(i views.Instance) bool { return i.Status == "online" }
	runs := func(i views.Instance) bool { return i.Conditions.Running.Status }
	for _, fits := range []func(views.Instance) bool{serves, runs} {
		n := slices.IndexFunc(there, fits)
		if n < 0 {
			continue
		}
		if x.target.ordinal < 0 {
			fmt.Fprintf(x.err, "rookery: in %s on %s\n", idOf(there[n]), there[n].Node)
		}
		return there[n], nil
	}
	return views.Instance{}, fmt.Errorf("%s has no running instance: see `rookery ps %s`", x.target, x.target.service)
}
