package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/supply"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/runner"
)

// defaultPorts is the range that a node offers: above the well-known ports, below those that the kernel picks itself.
const defaultPorts = "20000-29999"

// defaultUnused is how long a node keeps an unused image, so that a rollback within a day needs no pull.
const defaultUnused = 24 * time.Hour

// defaultPodman is where a rootful Podman listens.
const defaultPodman = "unix:///run/podman/podman.sock"

// nodeFlags are the settings of a node.
type nodeFlags struct {
	name, podman, address, zone, ports string
	metrics                            string
	registryAuth                       string
	unusedFor                          time.Duration
	labels                             map[string]string
	reserve, defaults                  events.Resources
	heartbeat, answerTime              time.Duration
	allow                              node.Allowance
	allows                             events.NodeAllows
	hostPorts                          []string
}

func nodeCommand(l *link) *cobra.Command {
	f := &nodeFlags{}
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Run a node, which runs instances in this host's Podman",
		Long: `Run a node. It joins the cluster, carries out its orders through Podman, and reports the state of its containers. When you stop or
upgrade a node, its containers continue to run, and it adopts them when it starts again.`,
		Example: `  rookery node --server nats://10.0.0.1:4222 --address 10.0.0.7
  rookery node --config /etc/rookery/node.yaml
  rookery node --name edge-3 --zone attic --label disk=ssd --ports 20000-20999 --reserve-cpu 500m --reserve-memory 1GiB`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, done, err := l.open("rookery node "+f.name, patient())
			if err != nil {
				return err
			}
			defer done()
			config, engine, err := f.config(cmd.Context())
			if err != nil {
				return err
			}
			told, err := telemetry.Start(cmd.Context(), telemetry.Process{Service: "rookery-node", Instance: f.name, Log: logger()}, f.metrics)
			if err != nil {
				return err
			}
			defer told.Stop()
			config.Log = told.Log().With("part", "node", "node", f.name)
			config.Meter, config.Tracer = told.Meter("node/runner"), told.Tracer("node/runner")
			if err := engine.Measure(told.Meter("node/podman"), f.name); err != nil {
				return err
			}
			defer l.renews(cmd.Context(), b.Conn(), config.Log)()
			return runNode(cmd.Context(), b, config)
		},
	}
	podmanFlag(cmd, &f.podman)
	answerTimeFlag(cmd, &f.answerTime)
	nodeNameFlag(cmd, &f.name)
	cmd.Flags().StringVar(&f.address, "address", "127.0.0.1", "`address` at which clients reach the ports of its instances")
	cmd.Flags().StringVar(&f.zone, "zone", "", "availability `zone`")
	cmd.Flags().StringToStringVar(&f.labels, "label", nil, "label `name=value`; repeatable")
	cmd.Flags().TextVar(&f.reserve.CPU, "reserve-cpu", events.CPU(0), "`CPU` to keep free for other processes, as in 0.5 or 500m")
	cmd.Flags().TextVar(&f.reserve.Memory, "reserve-memory", events.Size(0), "`memory` to keep free for other processes, as in 1GiB")
	cmd.Flags().TextVar(&f.reserve.Disk, "reserve-disk", events.Size(0), "`disk` to keep free for other processes, as in 10GiB")
	cmd.Flags().TextVar(&f.defaults.CPU, "default-cpu", events.CPU(0), "`CPU` to set aside for an instance whose spec does not ask for "+
		"any; overrides the policy")
	cmd.Flags().TextVar(&f.defaults.Memory, "default-memory", events.Size(0), "`memory` to set aside for an instance whose spec does not "+
		"ask for any; overrides the policy")
	metricsFlag(cmd, &f.metrics)
	cmd.Flags().StringVar(&f.ports, "ports", defaultPorts, "`range` of host ports for instances")
	cmd.Flags().StringVar(&f.registryAuth, "registry-auth", "", "`file` with credentials for registries, from \"podman login "+
		"--authfile\"; read at each pull, in place of Podman's own")
	cmd.Flags().DurationVar(&f.unusedFor, "prune-images", defaultUnused, "remove images that the node pulled after `this long` without "+
		"use; 0 keeps them")
	cmd.Flags().DurationVar(&f.heartbeat, "heartbeat", runner.DefaultHeartbeat, "interval of its heartbeats; the same on all coordinators and nodes")
	cmd.Flags().StringArrayVar(&f.allow.HostPaths, "allow-host-path", nil, "let services mount this `folder` of the host and folders "+
		"below it; repeatable")
	cmd.Flags().BoolVar(&f.allow.HostNetwork, "allow-host-network", false, "let services use this host's own network")
	cmd.Flags().StringArrayVar(&f.hostPorts, "allow-host-port", nil, "let services use this `port` or range as host_port, as in 443 or "+
		"8000-8999, beyond --ports; repeatable")
	cmd.Flags().BoolVar(&f.allows.EngineContext, "allow-engine-context", false, "let services run in the security context engine, with Podman's own defaults")
	cmd.Flags().StringArrayVar(&f.allow.Capabilities, "allow-capability", nil, "let services have this `capability`, as in "+
		"CAP_SYS_PTRACE, beyond Podman's defaults; repeatable")
	cmd.Flags().StringArrayVar(&f.allow.Devices, "allow-device", nil, "let services use this `device` of the host, as in /dev/fuse; repeatable")
	configurationFlag(cmd)
	cmd.AddCommand(nodeVerbs(l)...)
	return cmd
}

func nodeNameFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "name", hostName(), "unique `name` of the node")
	cmd.Flags().Lookup("name").DefValue = "the host name"
}

// hostName is the name of a node that is not named.
func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return strings.ToLower(strings.Split(host, ".")[0])
}

// runNode runs a node once its server reaches the log. At a leaf node that does not reach the log, a node would join and read no orders. Without a
// connection runNode does not wait, because the node itself waits for that.
func runNode(ctx context.Context, b *bus.JetStream, config runner.Config) error {
	supplied, err := supply.For(b, config.Name)
	if err != nil {
		return fmt.Errorf("--name %s: %w: rookery node join makes others", config.Name, err)
	}
	config.Bus, config.Supply = b, supplied
	for said := false; b.User() == "" && b.Conn().IsConnected(); said = true { // with accounts a node reads no stream
		call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
		_, err := b.State(call, bus.Log)
		cancel()
		if b.WrongServer(err) == "" {
			break
		}
		if !said {
			config.Log.Warn("the node does not join before its server reaches the streams", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
	return runner.New(config).Run(ctx)
}

func answerTimeFlag(cmd *cobra.Command, value *time.Duration) {
	cmd.Flags().DurationVar(value, "answer-timeout", node.DefaultAnswerTime, fmt.Sprintf("how long Podman may take to answer questions "+
		"about itself, from %s to %s; a node whose Podman takes longer is degraded and gets no new instances; at least %s before it joins",
		node.MinAnswerTime, node.MaxAnswerTime, node.FirstAnswer(0)))
}

func checkAnswerTime(value time.Duration) error {
	if value < node.MinAnswerTime || value > node.MaxAnswerTime {
		return fmt.Errorf("--answer-timeout %s is out of range: want %s to %s", value, node.MinAnswerTime, node.MaxAnswerTime)
	}
	return nil
}

func podmanFlag(cmd *cobra.Command, value *string) {
	host := os.Getenv("CONTAINER_HOST")
	if host == "" {
		host = defaultPodman
	}
	cmd.Flags().StringVar(value, "podman", host, "`URL` of Podman's service (CONTAINER_HOST)")
	setBy(cmd.Flags(), "podman", "CONTAINER_HOST")
}

func (f *nodeFlags) config(ctx context.Context) (runner.Config, *podman.Engine, error) {
	if !events.ValidName(f.name) {
		return runner.Config{}, nil, badNodeName(f.name)
	}
	ports, err := parsePorts(f.ports)
	if err != nil {
		return runner.Config{}, nil, err
	}
	for _, text := range f.hostPorts {
		allowed, err := parseRange("--allow-host-port", text, "443 or 8000-8999")
		if err != nil {
			return runner.Config{}, nil, err
		}
		f.allows.HostPorts = append(f.allows.HostPorts, allowed)
	}
	if err := checkAnswerTime(f.answerTime); err != nil {
		return runner.Config{}, nil, err
	}
	call, cancel := context.WithTimeout(ctx, node.FirstAnswer(f.answerTime))
	defer cancel()
	engine, err := podman.Connect(call, f.podman)
	if err != nil {
		return runner.Config{}, nil, err
	}
	if err := f.useRegistryAuth(engine); err != nil {
		return runner.Config{}, nil, err
	}
	if err := useWatchdog(engine, f.podman, f.name); err != nil {
		return runner.Config{}, nil, err
	}
	return runner.Config{
		SampleEvery: runner.DefaultSampleEvery,
		Engine:      engine, Name: f.name, Program: ownProgram(), Heartbeat: f.heartbeat, AnswerTime: f.answerTime, Allow: f.allow, Prune: f.pruner(engine),
		Facts: events.NodeFacts{Address: f.address, Zone: f.zone, Labels: f.labels, Ports: ports, Allows: f.allows, Reserve: f.reserve, Default: f.defaults},
	}, engine, nil
}

// useRegistryAuth makes the engine read credentials from the file. A broken file does not keep the node from starting: the engine
// reads the file again at each pull, and running instances do not need it.
func (f *nodeFlags) useRegistryAuth(engine *podman.Engine) error {
	if f.registryAuth == "" {
		return nil
	}
	path, err := filepath.Abs(f.registryAuth)
	if err != nil {
		return fmt.Errorf("--registry-auth %q: %w", f.registryAuth, err)
	}
	engine.RegistryAuth(path)
	if err := engine.CheckRegistryAuth(); err != nil {
		logger().Warn("image pulls fail until this file is repaired", "error", err)
	}
	return nil
}

// pruner returns the function that removes unused images of the engine, or nil if the node keeps them.
func (f *nodeFlags) pruner(engine *podman.Engine) func(context.Context, node.Owner, []string) error {
	if f.unusedFor <= 0 {
		return nil
	}
	engine.PruneImages(f.unusedFor)
	return func(ctx context.Context, owner node.Owner, needed []string) error {
		return engine.Prune(ctx, owner, needed, time.Now())
	}
}

func parsePorts(text string) (events.PortRange, error) {
	if !strings.Contains(text, "-") {
		return events.PortRange{}, fmt.Errorf("--ports %q is not a range: want FIRST-LAST, as in %s", text, defaultPorts)
	}
	return parseRange("--ports", text, defaultPorts)
}

// parseRange reads a range of ports, or one port.
func parseRange(flag, text, example string) (events.PortRange, error) {
	first, last, ok := strings.Cut(text, "-")
	if !ok {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if err1 != nil || err2 != nil || from == 0 || from > to {
		return events.PortRange{}, fmt.Errorf("%s %q is not a port or a range of ports: write it as in %s", flag, text, example)
	}
	return events.PortRange{First: uint16(from), Last: uint16(to)}, nil
}

// split gives node i of n its share of the range.
func split(r events.PortRange, i, n int) events.PortRange {
	size := (int(r.Last) - int(r.First) + 1) / n
	first := int(r.First) + i*size
	return events.PortRange{First: uint16(first), Last: uint16(first + size - 1)}
}
