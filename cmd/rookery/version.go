package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// versions are the versions of the programs that take part in a cluster, and of this client.
type versions struct {
	Client  string        `json:"client"`
	Levels  events.Levels `json:"levels"`
	Go      string        `json:"go"`
	Commit  string        `json:"commit,omitempty"` // of which it was built, and its time
	Time    string        `json:"commit_time,omitempty"`
	Server  string        `json:"server,omitempty"`
	Address string        `json:"address,omitempty"`
	// Level is that of the cluster.
	Level        events.Level      `json:"level"`
	Coordinators []bus.Coordinator `json:"coordinators,omitempty"`
	Nodes        []nodeProgram     `json:"nodes,omitempty"`
}

// nodeProgram is the program of a node, as far as the log says.
type nodeProgram struct {
	Name string `json:"name"`
	events.Program
}

// ownProgram is what this process says of itself.
func ownProgram() events.Program {
	return events.Program{Version: telemetry.Version(), Levels: events.OwnLevels}
}

func versionCommand(l *link) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of all programs of a cluster",
		Long: `Print the versions of this client, the NATS server, the coordinators and the nodes, the levels at which they work, and the level of the
cluster. The version of a node is known if it has joined since the cluster reached level 1. If it does not reach the server, it prints its own, and exits with 1.`,
		Example: `  rookery version
  rookery version --output json
The coordinators with the nats CLI:
  nats micro info rookery`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			own := ownProgram()
			known := versions{Client: own.Version, Levels: own.Levels, Go: runtime.Version()}
			known.Commit, known.Time = telemetry.Commit()
			b, done, err := l.open("rookery version")
			if err == nil {
				defer done()
				err = known.ask(cmd.Context(), b)
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

// ask finds out what runs beside this client. Where there is no cluster yet, that is the server alone.
func (v *versions) ask(ctx context.Context, b *bus.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	v.Server, v.Address = b.Conn().ConnectedServerVersion(), b.Conn().ConnectedUrlRedacted()
	var err error
	if v.Coordinators, err = b.Coordinators(ctx); err != nil {
		return err
	}
	raised, err := b.Latest(ctx, bus.Log, events.ClusterScope.LogSubject(events.ClusterLevel{}.Kind()))
	if errors.Is(err, bus.ErrNoStream) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, m := range raised {
		level, _, err := events.DecodeAs[events.ClusterLevel](m)
		if err != nil {
			return err
		}
		v.Level = level.Level
	}
	if len(v.Coordinators) == 0 {
		return nil
	}
	nodes, err := readList[views.Node](ctx, b, bus.BucketNodes, api.ListQuestion{})
	for _, n := range nodes {
		v.Nodes = append(v.Nodes, nodeProgram{n.Name, n.Program})
	}
	return err
}

func printVersions(cmd *cobra.Command, how output, known versions) error {
	if how.json() {
		return how.print(cmd.OutOrStdout(), known)
	}
	built := "built by " + known.Go
	if known.Commit != "" {
		built += " of " + known.Commit + ", " + known.Time
	}
	rows := []string{fmt.Sprintf("rookery\t%s\t%s\t%s", known.Client, known.Levels, built)}
	if known.Server != "" {
		rows = append(rows, fmt.Sprintf("nats-server\t%s\t\tat %s", known.Server, known.Address))
	}
	for _, c := range known.Coordinators {
		rows = append(rows, fmt.Sprintf("coordinator\t%s\t%s\t%s", cmp.Or(c.Version, "unknown"), c.Levels, c.Name))
	}
	for _, n := range known.Nodes {
		if n.Version == "" { // it joined before the log had this
			rows = append(rows, fmt.Sprintf("node\tunknown\t\t%s", n.Name))
			continue
		}
		rows = append(rows, fmt.Sprintf("node\t%s\t%s\t%s", n.Version, n.Levels, n.Name))
	}
	if known.Server != "" {
		rows = append(rows, fmt.Sprintf("the cluster\t\t%d\t", known.Level))
	}
	return table(cmd.OutOrStdout(), "PROGRAM\tVERSION\tLEVELS\tFOUND", rows)
}
