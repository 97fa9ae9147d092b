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

// execution is what people run in an instance.
type execution struct {
	target          target
	command         []string
	input, terminal bool
	in              *os.File
	out, err        io.Writer
	// wrote says that the command has written anything.
	wrote bool
}

func execCommand(l *link) *cobra.Command {
	var x execution
	cmd := &cobra.Command{
		Use:   "exec [-it] NAMESPACE/NAME[/ORDINAL] [--] COMMAND [ARGUMENT...]",
		Short: "Run a command in the container of an instance, wherever it is",
		Long: `Run a command in the container of an instance, wherever it is, and end with its exit code. Without an ordinal it is the
lowest that serves, which is said on standard error.

With -i the command reads standard input; with -t it runs on a terminal of the size of this one, which follows it. The
command ends with this one: with Ctrl-C, where it has no terminal that takes that; when this is killed; or when the bus
is lost for 10 seconds. It is told to end then (SIGHUP on a terminal, else SIGTERM), and killed 3 seconds later.

What goes in and comes out goes over the bus and is stored nowhere; nor is the command.

Exit codes: that of the command; 125 the session failed: the command's own is not known, or it did not begin; 126 the command cannot be
run; 127 there is no such command in the container; 1 no instance was found, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery exec demo/web -- /web -check
  rookery exec -it demo/web/2 -- sh
  tar c site | rookery exec -i demo/web -- tar x -C /srv
Where to go, with the nats CLI:
  nats req rookery.api.exec '{"service":"demo/web"}'`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVarP(&x.input, "interactive", "i", false, "have the command read standard input")
	cmd.Flags().BoolVarP(&x.terminal, "tty", "t", false, "run it on a terminal")
	cmd.Flags().SetInterspersed(false) // what is behind the instance is the command's
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && args[1] == "--" {
			args = slices.Delete(args, 1, 2)
		}
		if len(args) < 2 {
			return usage(cmd, errors.New("name an instance and a command, as in rookery exec demo/web -- /web -check"))
		}
		var err error
		if x.target, err = parseTarget(args[0]); err != nil {
			return usage(cmd, err)
		}
		x.command, x.in, x.out, x.err = args[1:], os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
		if x.terminal && !isTerminal(x.in) {
			return usage(cmd, errors.New("-t needs a terminal, and standard input is none: leave -t out"))
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

// run runs the command and returns an error with its exit code, unless that is 0.
func (x *execution) run(ctx context.Context, b *bus.JetStream) error {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	if _, err := logState(call, b); err != nil {
		return err
	}
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
	c, err := session.Open(ctx, b, events.SessionSubject(i.Node, events.SessionExec, idOf(i)), body)
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
		return &codedError{events.ExitExecFailed, fmt.Errorf("running the command in %s on %s: %w", idOf(i), i.Node, err)}
	}
	return x.outcome(i, code)
}

// outcome returns an error with the exit code that the command has ended with, unless that is 0.
func (x *execution) outcome(i views.Instance, code int32) error {
	switch {
	case code == 0:
		return nil
	case !x.wrote && notRun[code] != "":
		return &codedError{int(code), fmt.Errorf("running %q in %s on %s: %s (exit code %d)", x.command[0], idOf(i), i.Node, notRun[code], code)}
	}
	return &endedError{code}
}

// notRun is why a command did not run that ended with the exit code and wrote nothing: Podman itself does not always say so.
var notRun = map[int32]string{
	events.ExitNotExecutable:  "it cannot be run: it is no program, or may not be executed",
	events.ExitCommandMissing: "there is no such command in the container",
}

// endedError is the exit code of a command that was run: it has said what there is to say.
type endedError struct{ code int32 }

func (e *endedError) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", e.code)
}

// choose returns the instance that the command is run in.
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
	return views.Instance{}, fmt.Errorf("no instance of %s runs: see `rookery ps %s`", x.target, x.target.service)
}
