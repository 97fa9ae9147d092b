package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// asking has the flags that all commands that change something share.
type asking struct {
	link    *link
	out     output
	timeout time.Duration
	busy    string
	ifSeq   uint64
	yes     bool
	dryRun  bool
	verbose bool
}

func (a *asking) flags(cmd *cobra.Command) {
	a.out.flag(cmd)
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "print what this would change, and change nothing; exits with 7 if there are changes")
	cmd.Flags().BoolVar(&a.verbose, "verbose", false, "print each event on a terminal too, and not one line that counts them")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 11*time.Minute, "how long to wait for the outcome; the command continues after that")
}

const busyHelp = "`policy` while an earlier command is unfinished: reject (the default), queue or supersede"

func (a *asking) guardFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.busy, "busy", "", busyHelp)
	a.ifSeqFlag(cmd)
}

func (a *asking) ifSeqFlag(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&a.ifSeq, "if-seq", 0, "reject this if the service has changed after this `sequence` of the log")
}

// guard returns the conditions on the command that the flags give.
func (a *asking) guard() events.Guard {
	return events.Guard{Busy: events.BusyPolicy(a.busy), SeenAt: events.SeenAt{IfSeq: a.ifSeq}}
}

// ask publishes a service's command, shows its progress and returns an error with the exit code of its outcome.
func (a *asking) ask(cmd *cobra.Command, service string, command events.Data) error {
	id, err := events.ParseServiceID(service)
	if err != nil {
		return usage(cmd, err)
	}
	return a.publish(cmd, scopeOf(id), nil, command)
}

// publish is ask for any scope. It also shows the progress of a group's members.
func (a *asking) publish(cmd *cobra.Command, scope string, members []events.ServiceID, command events.Data) error {
	m, err := commandMessage(scope, command)
	if err != nil {
		return err
	}
	b, done, err := a.link.open("rookery")
	if err != nil {
		return err
	}
	defer done()
	if a.dryRun {
		return a.rehearse(cmd.Context(), b, cmd.OutOrStdout(), m)
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), a.timeout, errTimeout)
	defer cancel()
	shown := a.progress()
	w := &waiter{bus: b, progress: shown, scope: scope, members: members, waves: waves{}}
	outcome, err := w.run(ctx, m)
	shown.end()
	if errors.Is(err, context.Canceled) && w.sequence > 0 {
		return &codedError{exitSignal, fmt.Errorf("interrupted: command %d continues: see `rookery ps`", w.sequence)}
	}
	if err != nil {
		return err
	}
	about := cmp.Or(outcome.Service, outcome.Group, outcome.Node, "the cluster")
	switch {
	case outcome.Outcome != projections.Succeeded:
	case outcome.Unchanged:
		fmt.Fprintf(shown, "%s is unchanged\n", about)
	default:
		w.succeeded(ctx, about)
	}
	if a.out.json() {
		if err := a.out.print(cmd.OutOrStdout(), outcome); err != nil {
			return err
		}
	}
	return failureOf(outcome)
}

// progress returns where to show progress. With JSON or YAML output it shows none, unless standard error is a terminal.
func (a *asking) progress() *progress {
	terminal := isTerminal(os.Stderr)
	if a.out.json() && !terminal {
		return newProgress(io.Discard, false)
	}
	return newProgress(os.Stderr, terminal && !a.verbose)
}

// commandMessage encodes the command as a message. It returns an error if the command is too large for the bus.
func commandMessage(scope string, command events.Data) (events.Message, error) {
	m, err := events.Encode(events.CommandRoot+"."+scope+"."+command.Kind().Name, command,
		events.Attributes{ID: rand.Text(), Source: sender(), Time: time.Now()})
	if err != nil {
		return events.Message{}, err
	}
	size := len("NATS/1.0\r\n\r\n") + len(m.Body)
	for name, values := range m.Header {
		size += len(name) + len(strings.Join(values, "")) + len(": \r\n")
	}
	if size > bus.MaxCommand {
		return events.Message{}, fmt.Errorf("the command has %d bytes, but the bus takes at most %d: make the spec smaller", size, bus.MaxCommand)
	}
	return m, nil
}

// scopeOf returns the tokens that name a service in subjects.
func scopeOf(id events.ServiceID) string { return "service." + id.Namespace + "." + id.Name }

var errTimeout = errors.New("still in progress when --timeout passed; the command continues: see `rookery ps`")

func ensureCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	var file string
	var spec events.ServiceEnsure
	var ports, env []string
	scale := int64(-1)
	cmd := &cobra.Command{
		Use:   "ensure NAMESPACE/NAME",
		Short: "Create or update one service",
		Long: `Create a service with this spec, or update it to a new revision, and wait until every instance serves. The command changes
nothing if the service already has this spec and scale.

` + exitCodes,
		Example: `  rookery ensure demo/web --image localhost/web:1 --scale 3 --port http:8080
  rookery ensure demo/web --file web.yaml
  echo '{"image":"localhost/web:1"}' | rookery ensure demo/web --file -
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.ensure '{"image":"localhost/web:1","scale":3}'`,
		Args: arguments("NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := readSpec(cmd, file, args[0], &spec); err != nil {
				return err
			}
			if err := addPorts(&spec, ports, env); err != nil {
				return usage(cmd, err)
			}
			if scale >= 0 {
				spec.Scale = &scale
			}
			if a.busy != "" {
				spec.Busy = events.BusyPolicy(a.busy)
			}
			if a.ifSeq > 0 {
				spec.IfSeq = a.ifSeq
			}
			return a.ask(cmd, args[0], spec)
		},
	}
	a.flags(cmd)
	a.guardFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "", "`file` with the spec, as YAML or JSON; - for standard input")
	f.StringVar(&spec.Image, "image", "", "container image")
	f.Int64Var(&scale, "scale", -1, "number of instances")
	f.StringSliceVar(&ports, "port", nil, "named port, as `name:port[/udp]`; repeatable")
	f.StringArrayVar(&env, "env", nil, "environment variable, as `NAME=value`; repeatable")
	f.StringArrayVar(&spec.Args, "arg", nil, "argument of the container; repeatable")
	return cmd
}

// readSpec reads the file. A flag that the operator gave overrides its field.
func readSpec(cmd *cobra.Command, file, service string, spec *events.ServiceEnsure) error {
	if file == "" {
		return nil
	}
	flags := *spec
	body, err := readOne(cmd.InOrStdin(), file, service, "service", "job")
	if err != nil {
		return err
	}
	if *spec, err = events.ParseServiceEnsure(body); err != nil {
		return fmt.Errorf("read the spec in %s: %w", file, located(err))
	}
	if flags.Image != "" {
		spec.Image = flags.Image
	}
	if len(flags.Args) > 0 {
		spec.Args = flags.Args
	}
	return nil
}

func readFile(in io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}

func addPorts(spec *events.ServiceEnsure, ports, env []string) error {
	for _, text := range ports {
		name, rest, ok := strings.Cut(text, ":")
		number, protocol, _ := strings.Cut(rest, "/")
		port, err := strconv.ParseUint(number, 10, 16)
		if !ok || err != nil {
			return fmt.Errorf("--port %q is not a named port: want NAME:PORT with a port from 1 to 65535, as in http:8080 or dns:53/udp", text)
		}
		spec.Ports = append(spec.Ports, events.Port{Name: name, Port: uint16(port), Protocol: events.Protocol(protocol)})
	}
	for _, text := range env {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("--env %q has no value: want NAME=value", text)
		}
		if spec.Env == nil {
			spec.Env = map[string]string{}
		}
		spec.Env[name] = value
	}
	return nil
}

func scaleCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := &cobra.Command{
		Use:   "scale NAMESPACE/NAME INSTANCES",
		Short: "Set the number of instances of a service",
		Long: "Set the number of instances of a service, and wait until all serve. Scaling down first stops instances that do not serve, then\n" +
			"those with the highest ordinals. With volumes, a topology or templates it stops the highest ordinals only.\n\n" + exitCodes,
		Example: `  rookery scale demo/web 5
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.scale '{"scale":5}'`,
		Args: arguments("NAMESPACE/NAME", "INSTANCES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usage(cmd, fmt.Errorf("invalid scale %q: want a whole number from 0 to 10000", args[1]))
			}
			if err := a.confirmScale(cmd, args[0], n); err != nil {
				return err
			}
			return a.ask(cmd, args[0], events.ServiceScale{Scale: &n, Guard: a.guard()})
		},
	}
	a.flags(cmd)
	a.yesFlag(cmd)
	a.guardFlags(cmd)
	return cmd
}

// confirmScale asks for confirmation before a scale that stops more than half of the instances.
func (a *asking) confirmScale(cmd *cobra.Command, service string, scale int64) error {
	id, err := events.ParseServiceID(service)
	if err != nil {
		return usage(cmd, err)
	}
	if a.yes || a.dryRun || !isTerminal(cmd.InOrStdin()) {
		return nil
	}
	b, done, err := a.link.open("rookery")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	all, err := readList[views.Service](ctx, b, bus.BucketServices, api.ListQuestion{Namespace: id.Namespace, Name: id.Name})
	if err != nil {
		return err
	}
	for _, s := range all {
		if 2*scale < int64(s.Scale) {
			return a.confirm(cmd, fmt.Sprintf("Scale %s from %d to %d instances?", id, s.Scale, scale))
		}
	}
	return nil
}
