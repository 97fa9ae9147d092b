package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

// serviceCommands returns the commands to a service.
var serviceCommands = []func(*link) *cobra.Command{
	ensureCommand, scaleCommand, restartCommand, snapshotCommand, suspendCommand, resumeCommand, rollbackCommand, promoteCommand, cancelCommand,
	dropCommand,
}

// guarded returns a command to a service, with the flags that set when the coordinator accepts it.
func guarded(l *link, cmd cobra.Command, of func(when events.Guard) events.Command) *cobra.Command {
	return guardedBy(&asking{link: l}, cmd, of)
}

func guardedBy(a *asking, cmd cobra.Command, of func(when events.Guard) events.Command) *cobra.Command {
	atOnce(a, &cmd, func(events.SeenAt) events.Command { return of(a.guard()) })
	cmd.Flags().StringVar(&a.busy, "busy", "", busyHelp)
	return &cmd
}

// atOnce is guarded for a command that never queues, because it acts on the current command or operation.
func atOnce(a *asking, cmd *cobra.Command, of func(at events.SeenAt) events.Command) *cobra.Command {
	cmd.Args = arguments("NAMESPACE/NAME")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.ask(cmd, args[0], of(a.guard().SeenAt)) }
	a.flags(cmd)
	a.ifSeqFlag(cmd)
	return cmd
}

func restartCommand(l *link) *cobra.Command {
	return guarded(l, cobra.Command{
		Use:   "restart NAMESPACE/NAME",
		Short: "Restart a service: replace all its instances",
		Long: `Replace every instance of a service by one with the same spec and images, and wait until all serve. Instances change in waves, as in
an update. A job starts over.

` + exitCodes,
		Example: `  rookery restart demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.restart '{}'`,
	}, func(when events.Guard) events.Command { return events.ServiceRestart{Guard: when} })
}

func snapshotCommand(l *link) *cobra.Command {
	return guarded(l, cobra.Command{
		Use:   "snapshot NAMESPACE/NAME",
		Short: "Take a snapshot of a service's volumes",
		Long: `Take a snapshot of a service. All instances first run their snapshot hook. Then Rookery stores the content of their volumes with
state in the object store rookery_volumes. A snapshot is complete once every instance has done its part. If one fails, the earlier
snapshot remains the last good one. Rookery keeps the last 5 snapshots.

` + exitCodes,
		Example: `  rookery snapshot demo/kv
  rookery ps demo/kv
The same with the nats CLI:
  nats req rookery.cmd.service.demo.kv.snapshot '{}'`,
	}, func(when events.Guard) events.Command { return events.ServiceSnapshot{Guard: when} })
}

func rollbackCommand(l *link) *cobra.Command {
	var to uint64
	cmd := guarded(l, cobra.Command{
		Use:   "rollback NAMESPACE/NAME",
		Short: "Return a service to an earlier revision",
		Long: `Return a service to an earlier revision: to its spec, and to the images that ran then. Rookery records this as a new revision
and replaces instances one after the other; instances that match it stay. Without --to it takes the last revision that differs from
the current one. Rookery keeps the last 10 revisions; rookery events NAMESPACE/NAME shows them. The scale stays.

` + exitCodes,
		Example: `  rookery rollback demo/web
  rookery rollback demo/web --to 3 --busy supersede
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.rollback '{"to":3}'`,
	}, func(when events.Guard) events.Command { return events.ServiceRollback{To: to, Guard: when} })
	cmd.Flags().Uint64Var(&to, "to", 0, "`revision` to return to")
	return cmd
}

func promoteCommand(l *link) *cobra.Command {
	return atOnce(&asking{link: l}, &cobra.Command{
		Use:   "promote NAMESPACE/NAME",
		Short: "Continue an update after its canaries",
		Long: `Confirm that the canaries of an update are good: the update continues with the other slots. This command ends at once; the
command that started the update reports how the update ends. rookery ps shows whether an update waits for promotion.

` + exitCodes,
		Example: `  rookery promote demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.promote '{}'`,
	}, func(at events.SeenAt) events.Command { return events.ServicePromote{SeenAt: at} })
}

func cancelCommand(l *link) *cobra.Command {
	return atOnce(&asking{link: l}, &cobra.Command{
		Use:   "cancel NAMESPACE/NAME",
		Short: "Return a service to its last healthy revision and scale",
		Long: `End the command that works on a service, and the commands that wait behind it. The service then returns to the spec, images and
scale with which all of it last served. A service that never served completely is dropped.

` + exitCodes,
		Example: `  rookery cancel demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.cancel '{}'`,
	}, func(at events.SeenAt) events.Command { return events.ServiceCancel{SeenAt: at} })
}

func suspendCommand(l *link) *cobra.Command {
	return guarded(l, cobra.Command{
		Use:   "suspend NAMESPACE/NAME",
		Short: "Suspend a service: keep its state, stop its instances",
		Long: `Suspend a service. Rookery takes a snapshot first, as rookery snapshot does, if the spec says what a snapshot holds; then it stops
all instances. Other services can use the resources that were set aside; slots, volumes and generations stay. If an instance fails
its part of the snapshot, no instance stops and the service continues. A suspended service takes only resume, cancel and drop.
A job cannot be suspended.

` + exitCodes,
		Example: `  rookery suspend demo/kv
  rookery resume demo/kv
The same with the nats CLI:
  nats req rookery.cmd.service.demo.kv.suspend '{}'`,
	}, func(when events.Guard) events.Command { return events.ServiceSuspend{Guard: when} })
}

func resumeCommand(l *link) *cobra.Command {
	var snapshot uint64
	cmd := guarded(l, cobra.Command{
		Use:   "resume NAMESPACE/NAME",
		Short: "Resume a suspended service",
		Long: `Resume a suspended service, and wait until all its instances serve. Without --snapshot, slots keep their volumes. If the node of a
slot cannot run it and all its volumes have state, the slot moves. On the new node its volumes get the content that Rookery stored
when it suspended the service.

With --snapshot, the volumes with state of all slots get the content of that snapshot. The service then has the scale of the
snapshot and keeps its revision. Instances with a topology find the snapshot in their topology file.

` + exitCodes,
		Example: `  rookery resume demo/kv
  rookery resume demo/kv --snapshot 3
The same with the nats CLI:
  nats req rookery.cmd.service.demo.kv.resume '{"snapshot":3}'`,
	}, func(when events.Guard) events.Command { return events.ServiceResume{Snapshot: snapshot, Guard: when} })
	cmd.Flags().Uint64Var(&snapshot, "snapshot", 0, "`version` of the snapshot to fill the volumes from; rookery events NAMESPACE/NAME shows them")
	return cmd
}

func dropCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := guardedBy(a, cobra.Command{
		Use:     "drop NAMESPACE/NAME",
		Aliases: []string{"rm", "delete"},
		Short:   "Delete a service and its instances",
		Long: `Delete a service: stop and remove all its instances, and wait until they are gone. Open commands of the service are superseded,
unless --busy says otherwise. Volumes stay on their nodes; podman volume rm removes them there. On a terminal drop asks first;
--yes skips the question.

` + exitCodes,
		Example: `  rookery drop demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.drop '{}'`,
	}, func(when events.Guard) events.Command { return events.ServiceDrop{Guard: when} })
	a.yesFlag(cmd)
	cmd.Flags().Lookup("busy").Usage = "`policy` while an earlier command is unfinished: supersede (the default), reject or queue"
	drop := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.confirm(cmd, fmt.Sprintf("Delete %s and its instances?", args[0])); err != nil {
			return err
		}
		return drop(cmd, args)
	}
	return cmd
}
