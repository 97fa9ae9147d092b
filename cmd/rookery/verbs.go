package main

import (
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

// serviceCommands are those that ask a service for something.
var serviceCommands = []func(*link) *cobra.Command{
	ensureCommand, scaleCommand, restartCommand, snapshotCommand, suspendCommand, resumeCommand, rollbackCommand, promoteCommand, cancelCommand,
	dropCommand,
}

// guarded is the command for what is asked of a service, and says when it is taken.
func guarded(l *link, cmd cobra.Command, of func(when events.Guard) events.Command) *cobra.Command {
	a := &asking{link: l}
	atOnce(a, &cmd, func(events.SeenAt) events.Command { return of(a.guard()) })
	cmd.Flags().StringVar(&a.busy, "busy", "", busyHelp)
	return &cmd
}

// atOnce is guarded for what never waits: it is about what goes on now.
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
		Short: "Replace every instance of a service by one of the same spec",
		Long: `Replace every instance of a service by one of the same spec and the same images, one after the other as with a new
revision, and wait until all of them serve. A job begins anew.

` + exitCodes,
		Example: `  rookery restart demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.restart '{}'`,
	}, func(when events.Guard) events.Command { return events.ServiceRestart{Guard: when} })
}

func snapshotCommand(l *link) *cobra.Command {
	return guarded(l, cobra.Command{
		Use:   "snapshot NAMESPACE/NAME",
		Short: "Keep what the instances of a service hold",
		Long: `Take a snapshot of a service: its instances run their snapshot hook, all of them before any goes on, and then what their
volumes with state hold is kept in the object store rookery_volumes. It counts once every instance has done its part; until
then, and where one fails, the snapshot before stays the last good one. The last 5 are kept.

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
		Short: "Have a service be as in an earlier revision",
		Long: `Have a service be as in an earlier revision: its spec, and the images that ran then. That is a new revision, and its
instances come one after the other; those that are as it says stay. Without --to it is the last revision that was not as
the present one. The last 10 revisions are kept; rookery events NAMESPACE/NAME shows them. The scale stays as it is.

` + exitCodes,
		Example: `  rookery rollback demo/web
  rookery rollback demo/web --to 3 --busy supersede
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.rollback '{"to":3}'`,
	}, func(when events.Guard) events.Command { return events.ServiceRollback{To: to, Guard: when} })
	cmd.Flags().Uint64Var(&to, "to", 0, "`revision` to go back to")
	return cmd
}

func promoteCommand(l *link) *cobra.Command {
	return atOnce(&asking{link: l}, &cobra.Command{
		Use:   "promote NAMESPACE/NAME",
		Short: "Have an update go on after its canaries",
		Long: `Say that the canaries of a service's update are good: the other slots follow. The command that began the update goes on
and says how that ends; this one is done at once. rookery ps says whether an update waits for it.

` + exitCodes,
		Example: `  rookery promote demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.promote '{}'`,
	}, func(at events.SeenAt) events.Command { return events.ServicePromote{SeenAt: at} })
}

func cancelCommand(l *link) *cobra.Command {
	return atOnce(&asking{link: l}, &cobra.Command{
		Use:   "cancel NAMESPACE/NAME",
		Short: "Have a service go back to where all of it was as it should be",
		Long: `End what is being done to a service, and what waits behind it, and have the service go back to where all of it last was
as it should be: to that spec, those images and that scale. A service that never was is dropped.

` + exitCodes,
		Example: `  rookery cancel demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.cancel '{}'`,
	}, func(at events.SeenAt) events.Command { return events.ServiceCancel{SeenAt: at} })
}

func suspendCommand(l *link) *cobra.Command {
	return guarded(l, cobra.Command{
		Use:   "suspend NAMESPACE/NAME",
		Short: "Have a service rest, without an instance, until it is resumed",
		Long: `Have a service rest: a snapshot is taken as rookery snapshot does, where the spec says what one holds, and then all instances
go. What was set aside for them is free for others; the slots, their volumes and their generations stay. Where an instance
does not do its part of the snapshot nothing is stopped, and the service goes on as it was. A suspended service takes
nothing else than resume and drop. A job cannot be suspended.

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
		Short: "Bring a suspended service back",
		Long: `Bring a suspended service back, and wait until all its instances serve. Without --snapshot volumes are as they were left; a slot
whose node cannot have it comes on another one, where its volumes are filled with what was kept of them as the service was
suspended, as long as all its volumes have state. With --snapshot the volumes with state of all slots are filled from that
snapshot, and the scale is as it was then; the revision stays. Instances with a topology find the snapshot in their file.

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
	return guarded(l, cobra.Command{
		Use:   "drop NAMESPACE/NAME",
		Short: "Have a service no more: stop and remove its instances",
		Long: `Have a service no more: stop and remove all its instances, and wait until they are gone. Commands that have not ended
are superseded, unless --busy says something else.

` + exitCodes,
		Example: `  rookery drop demo/web
The same with the nats CLI:
  nats req rookery.cmd.service.demo.web.drop '{}'`,
	}, func(when events.Guard) events.Command { return events.ServiceDrop{Guard: when} })
}
