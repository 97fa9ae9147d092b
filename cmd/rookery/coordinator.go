package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/nats-io/nuid"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events/bus"
)

func coordinatorCommand(l *link) *cobra.Command {
	var name, metrics string
	var a admission
	var heartbeat time.Duration
	var backups backingUp
	cmd := &cobra.Command{
		Use:   "coordinator",
		Short: "Run a coordinator, as the leader or a standby",
		Long: `Run a coordinator. You can run any number on one bus: one leads, the others are standbys that follow the log. The log accepts
writes from one leader only, so two coordinators that both believe they lead cannot contradict each other.`,
		Example: `  rookery coordinator --server nats://10.0.0.1:4222
  NATS_CONTEXT=production rookery coordinator
  rookery coordinator --config /etc/rookery/coordinator.yaml
  rookery coordinator --metrics 127.0.0.1:9464
  rookery coordinator --backup /var/backups/rookery --backup-every 1h --backup-keep 24
  OTEL_EXPORTER_OTLP_ENDPOINT=http://10.0.0.9:4318 rookery coordinator`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := backups.check(cmd); err != nil {
				return err
			}
			issue, signers, err := a.read()
			if err != nil {
				return err
			}
			b, done, err := l.open("rookery coordinator", patient())
			if err != nil {
				return err
			}
			defer done()
			var admits *runner.Admission
			if issue != nil {
				admits = &runner.Admission{User: b.User(), Issue: issue.Issue}
			}
			told, err := telemetry.Start(cmd.Context(), telemetry.Process{Service: "rookery-coordinator", Instance: name, Log: logger()}, metrics)
			if err != nil {
				return err
			}
			defer told.Stop()
			unobserve, err := b.Observe(cmd.Context(), told.Meter("events/bus"))
			if err != nil {
				return err
			}
			defer unobserve()
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(garbage)
			}
			stop, err := backups.start(cmd.Context(), b, told, signers)
			if err != nil {
				return err
			}
			defer stop()
			return supervise(cmd.Context(), runner.Config{
				Bus: b, Name: name, Program: ownProgram(), Log: told.Log().With("part", "coordinator"), Heartbeat: heartbeat,
				Admission: admits, Signers: signers,
				Meter: told.Meter("coordinator/runner"), Tracer: told.Tracer("coordinator/runner"),
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", processName(), "unique `name` of this coordinator")
	cmd.Flags().Lookup("name").DefValue = "the host name and a random part"
	cmd.Flags().DurationVar(&heartbeat, "heartbeat", runner.DefaultHeartbeat, "interval of nodes' heartbeats; the same on all coordinators and nodes")
	a.flag(cmd, "the keys that sign rounds, and credentials of nodes that join")
	metricsFlag(cmd, &metrics)
	backups.flags(cmd)
	configurationFlag(cmd)
	return cmd
}

// admission is the folder admission of rookery secure init, wherever it was copied to.
type admission struct{ folder string }

func (a *admission) flag(cmd *cobra.Command, has string) {
	cmd.Flags().StringVar(&a.folder, "admission", "", "`folder` admission of rookery secure init, with "+has)
}

// read reads the keys that sign credentials of nodes, and those that sign rounds; nil where there is no folder.
func (a admission) read() (*secure.Issuer, runner.Signers, error) {
	if a.folder == "" {
		return nil, nil, nil
	}
	files, err := secure.ReadAdmission(os.DirFS(a.folder))
	if err != nil {
		return nil, nil, fmt.Errorf("--admission %s: %w", a.folder, err)
	}
	i, err := files.Issuer()
	if err != nil {
		return nil, nil, fmt.Errorf("--admission %s: %w", a.folder, err)
	}
	signers, err := files.Signers()
	if err != nil {
		return nil, nil, fmt.Errorf("--admission %s: %w", a.folder, err)
	}
	return i, signers, nil
}

// signers are the keys that sign rounds; nil where there is no folder.
func (a admission) signers() (runner.Signers, error) {
	_, signers, err := a.read()
	return signers, err
}

// garbage is how much of it the heap of a coordinator has at most before it is collected, in percent of what is in use, unless GOGC says
// otherwise. In use is mostly the state, which stays: with the default, a cluster of many instances takes a quarter more memory.
const garbage = 50

func metricsFlag(cmd *cobra.Command, address *string) {
	cmd.Flags().StringVar(address, "metrics", "", "serve metrics for Prometheus at this `address` under /metrics, as in 127.0.0.1:9464; "+
		"for OTLP, name a collector in the OTEL_* variables")
}

// logger writes one line for each important event.
func logger() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), nuid.Next()[:6])
}

// lookAgain is how long a coordinator that must not continue waits before it checks again.
const lookAgain = 2 * time.Second

// supervise runs a coordinator until ctx ends. If the bus is not the one that the log knows, it logs that once and waits until an
// operator has repaired or adopted the bus.
func supervise(ctx context.Context, config runner.Config) error {
	said := ""
	for {
		err := runner.New(config).Run(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, runner.ErrIdentity) && !errors.Is(err, bus.ErrNoStream) {
			return err
		}
		if err.Error() != said {
			said = err.Error()
			config.Log.Error("the coordinator has stopped; containers continue to run", "reason", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
}
