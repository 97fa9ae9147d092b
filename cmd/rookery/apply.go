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

// apply has a namespace have the services that files list.
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
		Short: "Have the services that files list: show a plan, ask, and carry it out",
		Long: `Have the services of a namespace that files list. A file (- for standard input), in JSON or YAML, is either one object that
has, under the name of each service, what ensure takes for it, or a Compose file:

  {"web": {"image": "localhost/web:1", "scale": 3}, "db": {"image": "localhost/db:1"}}

All of it is checked before anything is asked for. Then the plan is shown: what is created, what changes, field by field,
what is as it shall be, and what the files do not list. That is left alone, or dropped with --prune: then the files are the
namespace's whole list. A service without a scale keeps the one that it has. One whose spec and scale are so already gets
no command and is not waited for.

Compose files are one project, later ones over earlier ones. The namespace is the project's name where none is given. What
changes goes out as one group of that name, in the order of depends_on: all of it or none, of 32 services at most. A service
that others wait for the end of is a job; jobs go out by themselves, in the same order. What Rookery does not do is an error
that says where it stands and what to do instead; with --lenient it is listed, and the rest is applied. What it does otherwise
than Compose is listed. Configs are put into the bucket rookery_configs, under names with a hash of what they hold. The README
has what becomes of which key, and x-rookery adds to a service what Compose has no key for.

On a terminal you are asked before anything is done. Without one nothing is done and the exit code is 2 where the plan has
something to do, and 0 where it has not; --yes goes on without asking. The commands for what is created and changed go out
together; drops follow once all those have succeeded, and else are left out. Ctrl-C ends the wait, and says which commands
go on.

The plan is read from the views, once they have what stands in the log. Right before the first command the log is read
again: where anybody has changed a service of the namespace since, nothing is done. Each command also says at which sequence
of the log the plan was made: it is rejected where its service has changed after that.

` + exitCodes + ` Of several ends the worst counts: error, failed, rejected, superseded, still going on.`,
		Example: `  rookery apply demo services.json
  rookery apply demo web.json db.json --prune
  rookery apply -f compose.yaml                       a Compose file, in the namespace that is named as the project
  rookery apply demo -f compose.yaml -f more.yaml --lenient
  rookery apply demo services.json < /dev/null        the plan alone
  rookery apply demo - --yes --output json < services.json
The same for one service with the nats CLI:
  nats req rookery.cmd.service.demo.web.ensure '{"image":"localhost/web:1","scale":3}'`,
		Args: func(c *cobra.Command, args []string) error { return a.arguments(c, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	a.flags(cmd)
	a.yesFlag(cmd)
	cmd.Flags().StringArrayVarP(&a.files, "file", "f", nil, "`file` with services, or a Compose file; - for standard input; may be given several times")
	cmd.Flags().BoolVar(&a.lenient, "lenient", false, "list what Compose files ask for and Rookery does not do, and apply the rest")
	cmd.Flags().BoolVar(&a.prune, "prune", false, "drop the services of the namespace that the files do not list")
	return cmd
}

// arguments takes the namespace, which Compose files may name themselves, and files that are not behind -f.
func (a *apply) arguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		a.namespace, a.files = args[0], append(args[1:], a.files...)
	}
	if len(a.files) == 0 {
		return usage(c, errors.New("apply takes a namespace and one file or more, or files of Compose alone behind -f; - is standard input"))
	}
	if a.namespace != "" && !events.ValidName(a.namespace) {
		return usage(c, fmt.Errorf("%q is no namespace: use a-z, 0-9 and \"-\"", a.namespace))
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
		return fmt.Errorf("nothing was done: --prune would drop %s, which the files list and --lenient leaves out: leave --prune out, or the service",
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

// carryOut asks, where there is somebody to be asked, and has done what the plan says.
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
	return p.carryOut(ctx, b, a.progress())
}

// agree returns nil where the plan shall be carried out.
func (a *apply) agree(cmd *cobra.Command, p *plan) error {
	if a.yes {
		return nil
	}
	return agree(cmd, a.out, p.print)
}
