package main

import (
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

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
