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

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// asking is what the commands that ask for a change have in common.
type asking struct {
	link    *link
	out     output
	timeout time.Duration
	busy    string
	ifSeq   uint64
	yes     bool
	dryRun  bool
}

func (a *asking) flags(cmd *cobra.Command) {
	a.out.flag(cmd)
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "print what this would do, and do nothing; the exit code is 7 where there is something to do")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 11*time.Minute, "how long to wait for the end; the command goes on all the same")
}

const busyHelp = "`policy` while an earlier command has not ended: reject (the default), queue or supersede"

func (a *asking) guardFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.busy, "busy", "", busyHelp)
	a.ifSeqFlag(cmd)
}

func (a *asking) ifSeqFlag(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&a.ifSeq, "if-seq", 0, "reject this where the service has changed after this `sequence` of the log")
}

// guard is what the flags say of when the command is taken.
func (a *asking) guard() events.Guard {
	return events.Guard{Busy: events.BusyPolicy(a.busy), SeenAt: events.SeenAt{IfSeq: a.ifSeq}}
}

// ask publishes the command, shows what happens and returns an error with the exit code of its end.
func (a *asking) ask(cmd *cobra.Command, service string, command events.Data) error {
	id, err := events.ParseServiceID(service)
	if err != nil {
		return usage(cmd, err)
	}
	return a.publish(cmd, scopeOf(id), nil, command)
}

// publish is ask for a command whose subject goes on with the scope, and shows what happens to the members of a group, too.
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
	w := &waiter{bus: b, progress: a.progress(), scope: scope, members: members, waves: waves{}}
	fate, err := w.run(ctx, m)
	if errors.Is(err, context.Canceled) && w.sequence > 0 {
		return &codedError{exitSignal, fmt.Errorf("interrupted: command %d goes on: see `rookery ps`", w.sequence)}
	}
	if err != nil {
		return err
	}
	if fate.Unchanged && fate.Outcome == projections.Succeeded {
		fmt.Fprintf(a.progress(), "nothing has changed: %s was asked to be so before\n", cmp.Or(fate.Service, fate.Group))
	}
	if a.out.json() {
		if err := a.out.print(cmd.OutOrStdout(), fate); err != nil {
			return err
		}
	}
	return outcome(fate)
}

// progress is where people are shown what happens: not in a pipe that takes JSON.
func (a *asking) progress() io.Writer {
	if a.out.json() && !isTerminal(os.Stderr) {
		return io.Discard
	}
	return os.Stderr
}

// commandMessage writes the command as it is published. It returns an error where the bus would not take its size.
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
		return events.Message{}, fmt.Errorf("the command has %d bytes, and the bus takes %d: make it smaller", size, bus.MaxCommand)
	}
	return m, nil
}

// scopeOf is how the subjects of a service go on.
func scopeOf(id events.ServiceID) string { return "service." + id.Namespace + "." + id.Name }

var errTimeout = errors.New("--timeout passed, and the command has not ended; it goes on: see `rookery ps`")

func ensureCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	var file string
	var spec events.ServiceEnsure
	var ports, env []string
	scale := int64(-1)
	cmd := &cobra.Command{
		Use:   "ensure NAMESPACE/NAME",
		Short: "Have a service: create it, or give it a new revision",
		Long: `Have a service with this spec: create it, or give it a new revision, or do nothing where all is so already. It waits
until every instance serves.

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
	f.StringSliceVar(&ports, "port", nil, "named port, as `name:port[/udp]`; may be given several times")
	f.StringArrayVar(&env, "env", nil, "environment variable, as `NAME=value`; may be given several times")
	f.StringArrayVar(&spec.Args, "arg", nil, "argument of the container; may be given several times")
	return cmd
}

// readSpec reads the file under the flags: a flag that was given wins.
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
		return fmt.Errorf("read the spec in %s: %w", file, err)
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
			return fmt.Errorf("--port %q is no named port: write it as http:8080 or dns:53/udp", text)
		}
		spec.Ports = append(spec.Ports, events.Port{Name: name, Port: uint16(port), Protocol: events.Protocol(protocol)})
	}
	for _, text := range env {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("--env %q has no value: write it as NAME=value", text)
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
		Short: "Have this many instances of a service",
		Long: "Have this many instances of a service, and wait until it is so. With fewer, instances that do not serve go first, and then\n" +
			"those with the highest ordinals. The highest go at once where ordinals matter to instances: with volumes, a topology or templates.\n\n" + exitCodes,
		Example: `  rookery scale demo/web 5
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.scale '{"scale":5}'`,
		Args: arguments("NAMESPACE/NAME", "INSTANCES"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usage(cmd, fmt.Errorf("%q is no number of instances", args[1]))
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

// confirmScale asks before more than half of the instances stop.
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
	all, err := readBucket[views.Service](ctx, b, bus.BucketServices)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Namespace == id.Namespace && s.Name == id.Name && 2*scale < int64(s.Scale) {
			return a.confirm(cmd, fmt.Sprintf("Scale %s from %d to %d instances?", id, s.Scale, scale))
		}
	}
	return nil
}
