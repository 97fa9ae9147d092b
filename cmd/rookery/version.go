package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
)

// versions are the versions of the programs that a command of this client involves.
type versions struct {
	Client  string `json:"client"`
	Go      string `json:"go"`
	Server  string `json:"server,omitempty"`
	Address string `json:"address,omitempty"`
}

func versionCommand(l *link) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this client and of the NATS server",
		Long:  "Print the versions of this client and of the NATS server. If it does not reach the server, it prints its own, and exits with 1.",
		Example: `  rookery version
  rookery version --output json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			known := versions{Client: telemetry.Version(), Go: runtime.Version()}
			b, done, err := l.open("rookery version")
			if err == nil {
				defer done()
				known.Server, known.Address = b.Conn().ConnectedServerVersion(), b.Conn().ConnectedUrlRedacted()
			}
			if printed := printVersions(cmd, out, known); printed != nil {
				return printed
			}
			return err
		},
	}
	out.flag(cmd)
	return cmd
}

func printVersions(cmd *cobra.Command, how output, known versions) error {
	if how.json() {
		return how.print(cmd.OutOrStdout(), known)
	}
	rows := []string{fmt.Sprintf("rookery\t%s\tbuilt by %s", known.Client, known.Go)}
	if known.Server != "" {
		rows = append(rows, fmt.Sprintf("nats-server\t%s\tat %s", known.Server, known.Address))
	}
	return table(cmd.OutOrStdout(), "PROGRAM\tVERSION\tFOUND", rows)
}
