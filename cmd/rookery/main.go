// Command rookery runs services on Podman hosts over NATS JetStream: the coordinator, the nodes, and the operator's interface.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events/bus"
)

// The exit codes. They are stable: scripts depend on them.
const (
	exitError      = 1   // an error; the message says what to do
	exitUsage      = 2   // the command line is wrong
	exitRejected   = 3   // the command was rejected
	exitFailed     = 4   // the command was accepted and failed
	exitSuperseded = 5   // the command was accepted and another took its place
	exitTimeout    = 6   // the wait ended before the command
	exitPending    = 7   // --dry-run found changes
	exitSignal     = 130 // Ctrl-C
)

// exitCodes is the part of the help that lists them.
const exitCodes = `Exit codes: 0 succeeded, 1 error, 2 wrong usage, 3 rejected, 4 failed, 5 superseded, 6 still in progress when
--timeout passed, 7 changes found by --dry-run, 130 Ctrl-C.`

// codedError is an error with its exit code.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	link, began := &link{end: end}, time.Now()
	err := root(link).ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if cause := context.Cause(ctx); errors.Is(cause, bus.ErrForbidden) {
		complain(os.Stderr, cause.Error())
		return exitError
	}
	err = link.explained(ctx, err, began)
	var coded *codedError
	var executed *endedError
	if strings.HasPrefix(err.Error(), "unknown command") {
		err = &codedError{exitUsage, fmt.Errorf("%w\nSee 'rookery --help'", err)}
	}
	switch {
	case errors.As(err, &executed):
		return int(executed.code)
	case errors.As(err, &coded):
		complain(os.Stderr, err.Error())
		return coded.code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		complain(os.Stderr, "interrupted")
		return exitSignal
	}
	complain(os.Stderr, err.Error())
	return exitError
}

// complain prints an error. On a terminal it wraps the message, and overwrites the ^C that the terminal shows for Ctrl-C.
func complain(out io.Writer, text string) {
	const below = 4
	if isTerminal(out) {
		fmt.Fprint(out, "\r\x1b[K")
	}
	for line := range strings.SplitSeq("rookery: "+text, "\n") {
		folded(out, line, below)
	}
}

func root(link *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rookery",
		Short: "Run services on Podman hosts over NATS JetStream",
		Long: `Rookery runs services on a fleet of Podman hosts. Its only API is NATS JetStream: the nats CLI can send the same commands and
show the same state. Only the commands that run a cluster, or that process its whole log (bus, doctor, archive, replay, capsule),
have no equivalent there.

Begin with:
  rookery dev                                        a whole Rookery on this machine
  rookery ensure demo/web --image localhost/web:1    a service
  rookery ps                                         its instances`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(usage)
	link.flags(cmd)
	utc := cmd.PersistentFlags().Bool("utc", false, "show times in UTC, not in the local time zone")
	cmd.PersistentPreRun = func(c *cobra.Command, _ []string) {
		link.needs = slices.ContainsFunc(ofStreams, func(name string) bool { return strings.HasPrefix(c.CommandPath()+" ", "rookery "+name+" ") })
		if *utc {
			time.Local = time.UTC // because all times are shown, and read where they have no zone, as local ones
		}
	}
	for _, family := range families(link) {
		cmd.AddGroup(&cobra.Group{ID: family.title, Title: family.title + ":"})
		for _, c := range family.commands {
			c.GroupID = family.title
			cmd.AddCommand(c)
		}
	}
	cmd.AddCommand(watchdogCommand())
	for name, words := range elsewhere {
		if c, _, err := cmd.Find([]string{name}); err == nil {
			c.SuggestFor = words
		}
	}
	completeNames(cmd, link)
	helpThatFits(cmd)
	return cmd
}

// ofStreams are the commands that read or change streams. The others ask coordinators.
var ofStreams = []string{
	"archive", "bus", "capsule", "config", "doctor", "drain", "events", "policy get", "rebalance", "replay", "stats", "top", "version", "what-if",
}

// family is a group of related commands in the help.
type family struct {
	title    string
	commands []*cobra.Command
}

func families(l *link) []family {
	deploy := []*cobra.Command{applyCommand(l), groupCommand(l), planCommand(l), initCommand(), validateCommand(), schemaCommand(), configCommand(l), editCommand(l), exportCommand(l)}
	for _, of := range serviceCommands {
		deploy = append(deploy, of(l))
	}
	return []family{
		{"Deploy services", deploy},
		{"Inspect services", []*cobra.Command{
			servicesCommand(l), psCommand(l), opsCommand(l), topCommand(l), statsCommand(l), inspectCommand(l), explainCommand(l), eventsCommand(l), logsCommand(l), execCommand(l),
		}},
		{"Manage nodes", []*cobra.Command{nodesCommand(l), nodeCommand(l), drainCommand(l), forgetCommand(l), rebalanceCommand(l), policyCommand(l)}},
		{"Look into the past", []*cobra.Command{
			historyCommand(l), stateCommand(l), diffCommand(l), replayCommand(l), whatIfCommand(l), capsuleCommand(l), archiveCommand(l),
		}},
		{"Run a cluster", []*cobra.Command{devCommand(), installCommand(l), uninstallCommand(l), coordinatorCommand(l), busCommand(l), clusterCommand(l), secureCommand(l), userCommand(), tokenCommand(l), doctorCommand(l), versionCommand(l)}},
	}
}

// elsewhere lists the names that other tools give to each command.
var elsewhere = map[string][]string{
	"services": {"get", "list", "service"},
	"ps":       {"status", "instances", "pods", "containers"},
	"apply":    {"deploy", "up", "create", "run", "stack"},
	"ensure":   {"create", "run", "add"},
	"drop":     {"down", "destroy", "remove", "purge", "undeploy"},
	"inspect":  {"describe", "show"},
	"explain":  {"why"},
	"logs":     {"log", "tail"},
	"exec":     {"ssh", "attach", "shell"},
	"ops":      {"operations", "rollout", "deployments"},
	"top":      {"dashboard"},
	"stats":    {"usage", "metrics"},
	"drain":    {"evict", "cordon"},
	"rollback": {"undo", "revert"},
	"promote":  {"continue"},
	"doctor":   {"check", "health"},
	"dev":      {"start", "server", "quickstart"},
}

func usage(c *cobra.Command, err error) error {
	return &codedError{exitUsage, fmt.Errorf("%w\nSee '%s --help'", err, c.CommandPath())}
}

// usageOf makes a wrong number of arguments a usage error.
func usageOf(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usage(c, err)
		}
		return nil
	}
}

// arguments accepts exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			takes := "no arguments"
			if len(names) > 0 {
				takes = strings.Join(names, " ")
			}
			return usage(c, fmt.Errorf("%s takes %s, and was given %d arguments: %q", c.Name(), takes, len(args), args))
		}
		return nil
	}
}
