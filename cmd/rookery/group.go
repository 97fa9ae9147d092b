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
		Long: `Change several services of a namespace with one command, in the order that you give: all of them, or none.

A group exists only while its command runs. Meanwhile no other command changes its services, except one that supersedes the group.
Its name identifies the command to operators; only one group of a name can be in progress.`,
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
		Short: "Create or update several services: all or none",
		Long: `Create or update several services of a namespace, or return all of them to their earlier state. The file is one object. Under
"services" it maps each name to the body of its ensure command, with "after" for the services that must change first:

  {"services": {
    "db":  {"image": "localhost/db:2"},
    "web": {"image": "localhost/web:2", "scale": 3, "after": ["db"]}}}

The coordinator checks the whole group before a service changes. It rejects the group, and names the service, if a member has an
unfinished command. Then services change stage by stage. All services of a stage change at once, each as its own spec says. A stage
begins once all services of earlier stages serve. Services with the scale 0 change first, in the reverse order.

If an update fails, or makes no progress within its progress_deadline, the command fails. All changed services then return to their
earlier spec and scale, the last stage first, and new services are dropped. The same happens if an operator cancels the group. If
another command takes over a member (--busy supersede, drop, cancel), the others return at once.

` + exitCodes,
		Example: `  rookery group ensure demo/shop --file shop.json
  rookery group ensure demo/shop --file - --busy supersede < shop.json
The same with the nats CLI:
  nats req rookery.cmd.group.demo.shop.ensure "$(cat shop.json)"`,
		Args: arguments("NAMESPACE/NAME"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if file == "" {
			return usage(cmd, errors.New("group ensure needs a file with the services: give --file"))
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
	cmd.Flags().StringVar(&a.busy, "busy", "", "`policy` while a service has an unfinished command: reject (the default) or supersede")
	cmd.Flags().Uint64Var(&a.ifSeq, "if-seq", 0, "reject this if one of the services has changed after this `sequence` of the log")
	return cmd
}

func groupCancelCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := &cobra.Command{
		Use:   "cancel NAMESPACE/NAME",
		Short: "Cancel a group and return its services",
		Long: `Cancel a group in progress. All services that it has changed return to their earlier spec and scale, the last stage first. This
command ends at once. The cancelled command fails once all services have returned.

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

// askGroup publishes a command to a group, as ask does for a service.
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

// groupDetails describes the progress of a group.
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
			return fmt.Sprintf(" rollback of stage %d: %s", d.Stage, strings.Join(d.Services, ", "))
		}
		return fmt.Sprintf(" stage %d: %s", d.Stage, strings.Join(d.Services, ", "))
	case events.GroupAborted:
		return ": " + d.Message
	case events.GroupEnded:
		return fmt.Sprintf(" (%s)", d.Outcome)
	}
	return ""
}
