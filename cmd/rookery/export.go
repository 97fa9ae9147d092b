package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// exported is the document of a service that stands.
type exported struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	events.Spec
	Scale *int64 `json:"scale,omitempty"`
}

func exportCommand(l *link) *cobra.Command {
	out := output{}
	cmd := &cobra.Command{
		Use:   "export NAMESPACE/NAME",
		Short: "Print the spec of a running service as a document",
		Long:  "Print the spec and the scale of a running service, as a document that rookery apply takes.",
		Example: `  rookery export demo/web > web.yaml
  rookery export demo/web --output json`,
		Args: arguments("NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			document, err := l.export(cmd, args[0])
			if err != nil {
				return err
			}
			return out.printDocument(cmd.OutOrStdout(), document)
		},
	}
	out.flag(cmd)
	return cmd
}

// export reads what a service is to be.
func (l *link) export(cmd *cobra.Command, service string) (exported, error) {
	id, err := events.ParseServiceID(service)
	if err != nil {
		return exported{}, usage(cmd, err)
	}
	b, done, err := l.open("rookery export")
	if err != nil {
		return exported{}, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	s, err := readSeen(ctx, b, []string{bus.BucketServices})
	if err == nil {
		err = s.missingOf(within{id.Namespace, id.Name})
	}
	if err != nil {
		return exported{}, err
	}
	return documentOf(s.services[id.Namespace+"."+id.Name]), nil
}

func documentOf(v views.Service) exported {
	d := exported{Kind: "service", Name: v.Namespace + "/" + v.Name, Spec: v.Spec}
	switch {
	case v.Spec.IsJob():
		d.Kind = "job"
	case v.Spec.Scaled():
		d.Scale = new(int64(v.Scale))
	}
	return d
}

func editCommand(l *link) *cobra.Command {
	a := &apply{asking: asking{link: l}}
	cmd := &cobra.Command{
		Use:   "edit NAMESPACE/NAME",
		Short: "Edit the spec of a running service, and apply it",
		Long: `Open the spec of a running service in the editor that VISUAL or EDITOR names. Afterwards rookery shows the plan and asks, as rookery
apply does. If the file has not changed, nothing is done.

` + exitCodes,
		Example: `  rookery edit demo/web
  EDITOR=nano rookery edit demo/web --dry-run`,
		Args: arguments("NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			document, err := l.export(cmd, args[0])
			if err != nil {
				return err
			}
			before, err := yamlOf(document)
			if err != nil {
				return err
			}
			return edited(cmd, before, func(file string) error {
				a.files = []string{file}
				return a.run(cmd)
			})
		},
	}
	a.flags(cmd)
	a.yesFlag(cmd)
	return cmd
}

// edited has a text edited in a file, and hands the file over where it has changed. Where that fails the file stays.
func edited(cmd *cobra.Command, before []byte, use func(file string) error) (err error) {
	file, err := os.CreateTemp("", "rookery-*.yaml")
	if err != nil {
		return err
	}
	if _, err := file.Write(before); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	editor := exec.CommandContext(cmd.Context(), "sh", "-c", `${VISUAL:-${EDITOR:-vi}} "$1"`, "sh", file.Name())
	editor.Stdin, editor.Stdout, editor.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := editor.Run(); err != nil {
		return fmt.Errorf("the editor has ended with %w: what it wrote is in %s", err, file.Name())
	}
	after, err := os.ReadFile(file.Name())
	if err != nil {
		return err
	}
	if string(after) == string(before) {
		fmt.Fprintln(cmd.ErrOrStderr(), "nothing was changed")
		return os.Remove(file.Name())
	}
	if err := use(file.Name()); err != nil && !errors.Is(err, errPending) {
		return fmt.Errorf("%w\nwhat you have written is in %s", err, file.Name())
	} else if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return os.Remove(file.Name())
}
