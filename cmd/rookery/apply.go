package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// apply deploys the services that files list into a namespace.
type apply struct {
	asking
	namespace      string
	files          []string
	prune, lenient bool
}

func applyCommand(l *link) *cobra.Command {
	a := &apply{asking: asking{link: l}}
	cmd := &cobra.Command{
		Use:   "apply [NAMESPACE] {FILE...|-f FILE...}",
		Short: "Deploy services from files, after showing a plan",
		Long: `Deploy the services that files list into a namespace, after showing a plan. A file is JSON or YAML; - is standard input. It is a
Compose file, or it has documents, divided by lines with "---", that each say what they are:

  kind: service          # or job, group, or policy with the name cluster
  name: demo/web
  image: localhost/web:1

Apply sets the policy of the cluster before it changes a service. A policy replaces the one before: a field that it lacks gets its
default. A file may also be one object that maps the name of each service of the namespace to its spec.

Rookery checks all files before it sends a command. The plan lists services to create, services to change with each changed
field, unchanged services, and services that the files do not list. Without --prune, apply leaves unlisted services alone; with
it, apply drops them. A service without a scale in its file keeps its current scale. An unchanged service gets no command.

Several Compose files form one project; a later file overrides an earlier one. Without NAMESPACE, the project's name is the
namespace. The services that change form one group with the project's name, of at most 32 services. All members change in the
order of depends_on, or none does. A service that another waits for with service_completed_successfully is a job; apply sends
jobs as separate commands, in the same order.

A Compose key that Rookery does not support is an error that gives its line and an alternative. With --lenient, apply lists such
keys and deploys the rest. It also lists keys that work differently than in Compose. It writes configs to the bucket
rookery_configs, under names with a hash of their content. The guide deploy/docs/compose.md lists all keys; x-rookery holds fields that Compose lacks.

On a terminal, apply asks before it carries out the plan; --yes skips the question. Without a terminal and --yes it changes
nothing, and exits with code 2 if the plan has changes, else 0. It sends the commands that create and change services together.
It drops services only after all of these commands succeed. Ctrl-C ends the wait and lists the commands that continue.

Apply makes the plan from the views once these have caught up with the log. Before the first command it reads the log again, and
stops if another client has changed a service of the namespace since. Each command carries the plan's sequence, so the
coordinator rejects it if its service changes later.

` + exitCodes + ` Of several commands the worst result counts: error, failed, rejected, superseded, still in progress.`,
		Example: `  rookery apply -f web.yaml                           documents with kind and name
  rookery apply demo services.json
  rookery apply demo web.json db.json --prune
  rookery apply -f compose.yaml                       a Compose file; its project names the namespace
  rookery apply demo -f compose.yaml -f more.yaml --lenient
  rookery apply demo services.json < /dev/null        show the plan only
  rookery apply demo - --yes --output json < services.json
The same for one service with the nats CLI:
  nats req rookery.cmd.service.demo.web.ensure '{"image":"localhost/web:1","scale":3}'`,
		Args: func(c *cobra.Command, args []string) error { return a.arguments(c, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	a.flags(cmd)
	a.yesFlag(cmd)
	cmd.Flags().StringArrayVarP(&a.files, "file", "f", nil, "`file` with services, or a Compose file; - for standard input; repeatable")
	cmd.Flags().BoolVar(&a.lenient, "lenient", false, "list Compose keys that Rookery does not support, and apply the rest")
	cmd.Flags().BoolVar(&a.prune, "prune", false, "drop the services of the namespace that the files do not list")
	return cmd
}

// arguments reads the namespace, which a Compose file can give as well, and the files that are not behind -f.
func (a *apply) arguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		a.namespace, a.files = args[0], append(args[1:], a.files...)
	}
	if len(a.files) == 0 {
		return usage(c, errors.New("apply needs a file: give NAMESPACE FILE..., or -f FILE for a file that names its namespace; - is standard input"))
	}
	if a.namespace != "" && !events.ValidName(a.namespace) {
		return usage(c, fmt.Errorf("%q is not a namespace: want 1 to 63 of a-z, 0-9 and \"-\"", a.namespace))
	}
	return nil
}

func (a *apply) run(cmd *cobra.Command) error {
	w, err := readWish(cmd.Context(), cmd.InOrStdin(), a.namespace, a.files)
	if err != nil {
		return err
	}
	if err := w.refused(a.lenient); err != nil {
		return err
	}
	if a.prune && w.project != nil && len(w.project.Left) > 0 {
		return fmt.Errorf("nothing was done: --prune would drop %s, which --lenient skips: omit --prune, or remove the service from the files",
			strings.Join(w.project.Left, ", "))
	}
	a.namespace = w.namespace
	b, done, err := a.link.open("rookery apply")
	if err != nil {
		return err
	}
	defer done()
	present, err := readPresent(cmd.Context(), b, a.namespace)
	if err != nil {
		return err
	}
	p, err := newPlan(a.namespace, w.services, present)
	if err != nil {
		return err
	}
	if err := p.addPolicy(cmd.Context(), b, w.policy); err != nil {
		return err
	}
	if err := p.addCompose(cmd.Context(), b, w); err != nil {
		return err
	}
	if err := p.checkGroups(); err != nil {
		return err
	}
	if a.prune {
		p.prune()
	}
	if !a.out.json() {
		err = p.print(cmd.OutOrStdout())
	}
	if err == nil && p.does() {
		err = a.carryOut(cmd, b, p, present)
	}
	if a.out.json() {
		return errors.Join(err, a.out.print(cmd.OutOrStdout(), p))
	}
	return err
}

// carryOut asks for confirmation and sends the plan's commands.
func (a *apply) carryOut(cmd *cobra.Command, b *bus.JetStream, p *plan, present presentServices) error {
	if a.dryRun {
		return errPending
	}
	if err := a.agree(cmd, p); err != nil {
		return err
	}
	if err := present.stillTrue(cmd.Context(), b, a.namespace); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), a.timeout, errTimeout)
	defer cancel()
	shown := a.progress()
	defer shown.end()
	return p.carryOut(ctx, b, shown)
}

// agree returns nil if the operator confirms the plan or gave --yes.
func (a *apply) agree(cmd *cobra.Command, p *plan) error {
	if a.yes {
		return nil
	}
	return agree(cmd, a.out, p.print)
}
