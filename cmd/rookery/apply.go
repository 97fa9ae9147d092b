package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// apply has a namespace have the services that files list.
type apply struct {
	asking
	namespace  string
	yes, prune bool
}

func applyCommand(l *link) *cobra.Command {
	a := &apply{asking: asking{link: l}}
	cmd := &cobra.Command{
		Use:   "apply NAMESPACE FILE...",
		Short: "Have the services that files list: show a plan, ask, and carry it out",
		Long: `Have the services of a namespace that files list. A file (- for standard input) is one JSON object that has, under the
name of each service, what ensure takes for it:

  {"web": {"image": "localhost/web:1", "scale": 3}, "db": {"image": "localhost/db:1"}}

All of it is checked before anything is asked for. Then the plan is shown: what is created, what changes, field by field,
what is as it shall be, and what the files do not list. That is left alone, or dropped with --prune: then the files are the
namespace's whole list. A service without a scale keeps the one that it has. One whose spec and scale are so already gets
no command and is not waited for.

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
  rookery apply demo services.json < /dev/null        the plan alone
  rookery apply demo - --yes --output json < services.json
The same for one service with the nats CLI:
  nats req rookery.cmd.service.demo.web.ensure '{"image":"localhost/web:1","scale":3}'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(c, errors.New("apply takes a namespace and one file or more; - is standard input"))
			}
			if !events.ValidName(args[0]) {
				return usage(c, fmt.Errorf("%q is no namespace: use a-z, 0-9 and \"-\"", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.namespace = args[0]
			return a.run(cmd, args[1:])
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "go on without asking")
	cmd.Flags().BoolVar(&a.prune, "prune", false, "drop the services of the namespace that the files do not list")
	return cmd
}

func (a *apply) run(cmd *cobra.Command, files []string) error {
	wanted, err := readServices(cmd.InOrStdin(), a.namespace, files)
	if err != nil {
		return err
	}
	b, done, err := a.link.open("rookery apply")
	if err != nil {
		return err
	}
	defer done()
	present, err := readPresent(cmd.Context(), b, a.namespace)
	if err != nil {
		return err
	}
	p, err := newPlan(a.namespace, wanted, present)
	if err != nil {
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
