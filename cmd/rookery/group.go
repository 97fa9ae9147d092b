package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

func groupCommand(l *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Change several services as one: all of them or none",
		Long: `Change several services of a namespace with one command: one after the other, as they say, and all of them or none.

A group is no thing that stays: it is the command, and its services are held by it until it has ended. The name is for
people to speak of it, and there is one of a name at a time.`,
		Example: `  rookery group ensure demo/shop --file shop.json
  rookery group cancel demo/shop`,
	}
	cmd.AddCommand(groupEnsureCommand(l), groupCancelCommand(l))
	return cmd
}

func groupEnsureCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	var file string
	cmd := &cobra.Command{
		Use:   "ensure NAMESPACE/NAME",
		Short: "Have several services be as a file says: all of them or none",
		Long: `Have several services of the namespace be as a file says, or all of them be what they were before. The file is one JSON
object that has under "services" and the name of each what ensure takes for it, and "after" where it comes after others:

  {"services": {
    "db":  {"image": "localhost/db:2"},
    "web": {"image": "localhost/web:2", "scale": 3, "after": ["db"]}}}

All of it is checked, and no service may have a command that has not ended, before anything changes: the whole is taken, or
rejected with the service that is in its way. Then services change stage by stage, those of one stage at once and each as
its own spec says. A stage begins once all services before it serve as they shall. Services that are to have no instance
any more come first, and stop in the other order.

Where a service does not get there - its update fails, or it makes no progress within its progress_deadline -, all that have
changed go back to the spec and the scale that they had, the last stage first, and the command fails. Services that it
created are dropped. So it is where somebody cancels it; and where another command takes one of its services (--busy
supersede, drop, cancel), the others go back at once.

` + exitCodes,
		Example: `  rookery group ensure demo/shop --file shop.json
  rookery group ensure demo/shop --file - --busy supersede < shop.json
The same with the nats CLI:
  nats req rookery.cmd.group.demo.shop.ensure "$(cat shop.json)"`,
		Args: arguments("NAMESPACE/NAME"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if file == "" {
			return usage(cmd, errors.New("group ensure takes what the services are to be from a file: give it with --file"))
		}
		body, err := readOne(cmd.InOrStdin(), file, args[0], "group")
		if err != nil {
			return err
		}
		c, err := events.ParseGroupEnsure(body)
		if err != nil {
			return fmt.Errorf("read the services in %s: %w", file, err)
		}
		if a.busy != "" {
			c.Busy = events.BusyPolicy(a.busy)
		}
		if a.ifSeq > 0 {
			c.IfSeq = a.ifSeq
		}
		return a.askGroup(cmd, args[0], c)
	}
	a.flags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "`file` with the services, as YAML or JSON; - for standard input")
	cmd.Flags().StringVar(&a.busy, "busy", "", "`policy` while a service has a command that has not ended: reject (the default) or supersede")
	cmd.Flags().Uint64Var(&a.ifSeq, "if-seq", 0, "reject this where one of the services has changed after this `sequence` of the log")
	return cmd
}

func groupCancelCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := &cobra.Command{
		Use:   "cancel NAMESPACE/NAME",
		Short: "Have the services of a group that is under way go back",
		Long: `Have all services that a group has changed so far go back to what they were before it, the last stage first. This command
is done at once; the one that it cancels fails once all are back.

` + exitCodes,
		Example: `  rookery group cancel demo/shop
The same with the nats CLI:
  nats req rookery.cmd.group.demo.shop.cancel '{}'`,
		Args: arguments("NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.askGroup(cmd, args[0], events.GroupCancel{}) },
	}
	a.flags(cmd)
	return cmd
}

// askGroup is ask for a command to a group.
func (a *asking) askGroup(cmd *cobra.Command, group string, command events.Data) error {
	id, err := events.ParseGroupID(group)
	if err != nil {
		return usage(cmd, err)
	}
	var members []events.ServiceID
	if c, ensures := command.(events.GroupEnsure); ensures {
		for _, name := range c.Names() {
			members = append(members, id.Member(name))
		}
	}
	return a.publish(cmd, "group."+id.Namespace+"."+id.Name, members, command)
}

// groupDetails says how far a group is.
func groupDetails(data events.Data) string {
	switch d := data.(type) {
	case events.GroupStarted:
		var stages []string
		for _, names := range d.Stages {
			stages = append(stages, strings.Join(names, ", "))
		}
		return " of " + strings.Join(stages, "; then ")
	case events.GroupEntered:
		if d.Back {
			return fmt.Sprintf(" stage %d on the way back: %s", d.Stage, strings.Join(d.Services, ", "))
		}
		return fmt.Sprintf(" stage %d: %s", d.Stage, strings.Join(d.Services, ", "))
	case events.GroupAborted:
		return ": " + d.Message
	case events.GroupEnded:
		return fmt.Sprintf(" (%s)", d.Outcome)
	}
	return ""
}
