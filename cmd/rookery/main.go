// Command rookery runs Podman hosts over NATS JetStream: the coordinator, the nodes, and what people type.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes. Scripts may count on them.
const (
	exitError      = 1   // something did not work; the message says what to do
	exitUsage      = 2   // the command line is wrong
	exitRejected   = 3   // the command was rejected
	exitFailed     = 4   // the command was accepted and failed
	exitSuperseded = 5   // the command was accepted and another took its place
	exitTimeout    = 6   // the wait ended before the command did
	exitPending    = 7   // --dry-run, and there is something to do
	exitSignal     = 130 // Ctrl-C
)

// exitCodes is the part of the help that tells them.
const exitCodes = `Exit codes: 0 succeeded, 1 error, 2 wrong usage, 3 rejected, 4 failed, 5 superseded, 6 still going on when
--timeout ended, 7 something to do with --dry-run, 130 Ctrl-C.`

// codedError carries the exit code that an error calls for.
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
	err := root().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
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

// complain says what went wrong: on a terminal folded as that has room, and over the ^C with which it shows a Ctrl-C.
func complain(out io.Writer, text string) {
	const below = 4
	if isTerminal(out) {
		fmt.Fprint(out, "\r\x1b[K")
	}
	for line := range strings.SplitSeq("rookery: "+text, "\n") {
		folded(out, line, below)
	}
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rookery",
		Short: "Run services on a fleet of Podman hosts, with a message bus as the only API",
		Long: `Rookery runs services on a fleet of Podman hosts. Its only API is NATS JetStream: whatever these commands
ask of a cluster or show of it, the nats CLI can too. Only what runs it, or works on its log as a whole (bus, doctor, archive,
replay, capsule), is here alone.

Begin with:
  rookery dev                                        a whole Rookery on this machine
  rookery ensure demo/web --image localhost/web:1    a service
  rookery ps                                         its instances`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetFlagErrorFunc(usage)
	link := &link{}
	link.flags(cmd)
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

// family is a group of commands in the help.
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
			servicesCommand(l), psCommand(l), opsCommand(l), topCommand(l), inspectCommand(l), explainCommand(l), eventsCommand(l), logsCommand(l), execCommand(l),
		}},
		{"Manage nodes", []*cobra.Command{nodesCommand(l), nodeCommand(l), drainCommand(l), forgetCommand(l), rebalanceCommand(l), policyCommand(l)}},
		{"Look into the past", []*cobra.Command{
			historyCommand(l), stateCommand(l), diffCommand(l), replayCommand(l), whatIfCommand(l), capsuleCommand(l), archiveCommand(l),
		}},
		{"Run a cluster", []*cobra.Command{devCommand(), coordinatorCommand(l), busCommand(l), doctorCommand(l)}},
	}
}

// elsewhere are the words of other tools, by the command that does that here.
var elsewhere = map[string][]string{
	"services": {"get", "list", "service"},
	"ps":       {"status", "instances", "pods", "containers"},
	"apply":    {"deploy", "up", "create", "run", "stack"},
	"drop":     {"down", "destroy", "remove", "uninstall", "purge", "undeploy"},
	"inspect":  {"describe", "show"},
	"explain":  {"why"},
	"logs":     {"log", "tail"},
	"exec":     {"ssh", "attach", "shell"},
	"ops":      {"operations", "rollout", "deployments"},
	"top":      {"stats", "dashboard"},
	"drain":    {"evict", "cordon"},
	"rollback": {"undo", "revert"},
	"promote":  {"continue"},
	"doctor":   {"check", "health"},
	"dev":      {"start", "server", "quickstart"},
}

func usage(c *cobra.Command, err error) error {
	return &codedError{exitUsage, fmt.Errorf("%w\nSee '%s --help'", err, c.CommandPath())}
}

// arguments takes exactly the named arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage(c, fmt.Errorf("%d arguments given, and %s takes %d: %v", len(args), c.Name(), len(names), names))
		}
		return nil
	}
}
