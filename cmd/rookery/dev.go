package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/metric"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	noderunner "github.com/rookery-project/rookery/node/runner"
	"github.com/rookery-project/rookery/node/simulated"
)

// dev runs a whole cluster in one process.
type dev struct {
	listen, data, podman, ports string
	metrics                     string
	nodes                       int
	clean, simulated            bool
	answerTime                  time.Duration
}

// simulatedCapacity is the capacity of each simulated node.
var simulatedCapacity = events.Capacity{CPU: 8, Memory: 16 << 30, Disk: 100 << 30}

func devCommand() *cobra.Command {
	d := &dev{}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole cluster on this machine, in one process",
		Long: `Run a whole cluster on this machine, in one process: a NATS server that stores every acknowledged message on disk, a coordinator,
and one or more nodes that share the Podman of this machine. Data and containers stay when it ends, and the next run continues with
them. With --clean it removes them at the end.

The server is open: each process on this machine may connect, and do everything. It does not listen to other hosts.

With --simulated the nodes keep their containers in memory, so you can try Rookery without Podman and without root. Each simulated
node has 8 CPUs and 16 GiB. Nothing remains when it ends.`,
		Example: `  rookery dev
  rookery dev --simulated --nodes 3
  rookery dev --nodes 3 --listen 127.0.0.1:0 --data /tmp/try --clean`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	podmanFlag(cmd, &d.podman)
	answerTimeFlag(cmd, &d.answerTime)
	cmd.Flags().StringVar(&d.listen, "listen", "127.0.0.1:4222", "`address` of the NATS server on this machine; port 0 picks a free port")
	cmd.Flags().StringVar(&d.data, "data", stateFolder(), "`folder` for the data of the streams")
	metricsFlag(cmd, &d.metrics)
	cmd.Flags().IntVar(&d.nodes, "nodes", 1, "number of nodes")
	cmd.Flags().StringVar(&d.ports, "ports", defaultPorts, "`range` of ports that the nodes divide among themselves")
	cmd.Flags().BoolVar(&d.clean, "clean", false, "remove containers and data at the end")
	cmd.Flags().BoolVar(&d.simulated, "simulated", false, "simulate containers in memory, without Podman, and keep data in a temporary folder")
	cmd.MarkFlagsMutuallyExclusive("simulated", "data")
	cmd.MarkFlagsMutuallyExclusive("simulated", "clean")
	cmd.MarkFlagsMutuallyExclusive("simulated", "podman")
	return cmd
}

func stateFolder() string {
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "rookery")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "rookery-data"
	}
	return filepath.Join(home, ".local", "state", "rookery")
}

func (d *dev) run(ctx context.Context, out io.Writer) error {
	if err := checkAnswerTime(d.answerTime); err != nil {
		return err
	}
	ports, err := parsePorts(d.ports)
	if err != nil {
		return err
	}
	if d.nodes < 1 || d.nodes > int(ports.Last)-int(ports.First)+1 {
		return fmt.Errorf("--nodes %d: want at least one node, and a port in --ports for each", d.nodes)
	}
	host, port, err := d.address()
	if err != nil {
		return err
	}
	engines, err := d.engines(ctx)
	if err != nil {
		return err
	}
	if d.simulated {
		if d.data, err = os.MkdirTemp("", "rookery-dev-"); err != nil {
			return fmt.Errorf("make the data folder: %w", err)
		}
		d.clean = true
	}
	if err := os.MkdirAll(d.data, 0o700); err != nil {
		return fmt.Errorf("make the data folder: %w: name another with --data", err)
	}
	server, err := embedded.Start(d.data, host, port)
	if err != nil {
		return err
	}
	err = d.parts(ctx, out, server, engines, ports)
	server.Stop()
	if d.clean && err == nil {
		return d.removeData()
	}
	return err
}

// removeData removes the server's files from the folder, and the folder itself if it is then empty.
func (d *dev) removeData() error {
	if err := os.RemoveAll(filepath.Join(d.data, "jetstream")); err != nil {
		return fmt.Errorf("remove the data: %w", err)
	}
	if left, err := os.ReadDir(d.data); err != nil || len(left) > 0 {
		return err
	}
	return os.Remove(d.data)
}

// address returns the host and port for the server, or an error if another process listens there, or other hosts may reach it.
func (d *dev) address() (string, int, error) {
	host, text, err := net.SplitHostPort(d.listen)
	if err != nil {
		return "", 0, fmt.Errorf("--listen %q is not an address: want HOST:PORT, as in 127.0.0.1:4222", d.listen)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("--listen %q: %q is not a port: want 0 to 65535", d.listen, text)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("--listen %q may be reached from other hosts, where nothing asks who connects: listen on 127.0.0.1,"+
			" or make a bus that knows its users with rookery secure init", d.listen)
	}
	if port == 0 {
		return host, embedded.AnyPort, nil
	}
	probe, err := net.Listen("tcp", d.listen) //nolint:noctx // it succeeds or fails at once
	if err != nil {
		return "", 0, fmt.Errorf("cannot listen on %s: %w: choose another with --listen, as in --listen 127.0.0.1:0", d.listen, err)
	}
	return host, int(port), probe.Close()
}

// engines are the nodes' container engines: this machine's Podman, which they share, or a simulated one for each.
type engines struct {
	of       []node.Engine
	measured *podman.Engine // nil for simulated engines
}

func (d *dev) engines(ctx context.Context) (engines, error) {
	if d.simulated {
		e := engines{}
		for range d.nodes {
			e.of = append(e.of, simulated.New(simulatedCapacity))
		}
		return e, nil
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	engine, err := podman.Connect(ctx, d.podman)
	if err != nil {
		return engines{}, fmt.Errorf("%w; to try Rookery without Podman, run rookery dev --simulated", err)
	}
	return engines{slices.Repeat([]node.Engine{engine}, d.nodes), engine}, useWatchdog(engine, d.podman, "dev")
}

// measure records metrics of calls to Podman.
func (e engines) measure(meter metric.Meter) error {
	if e.measured == nil {
		return nil
	}
	return e.measured.Measure(meter, "dev")
}

// parts runs the coordinator and the nodes until ctx ends, and then waits until they have stopped.
func (d *dev) parts(ctx context.Context, out io.Writer, server *embedded.Server, engines engines, ports events.PortRange) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	told, err := telemetry.Start(ctx, telemetry.Process{Service: "rookery-dev", Instance: processName(), Log: log}, d.metrics)
	if err != nil {
		return err
	}
	defer told.Stop()
	log = told.Log()
	if err := engines.measure(told.Meter("node/podman")); err != nil {
		return err
	}
	b, done, err := openEmbedded(server, "coordinator")
	if err != nil {
		return err
	}
	defer done()
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	if err := prepareBus(call, b); err != nil {
		return err
	}
	unobserve, err := b.Observe(ctx, told.Meter("events/bus"))
	if err != nil {
		return err
	}
	defer unobserve()
	ctx, stop := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	start := func(name string, part func(context.Context) error) {
		running.Go(func() {
			if err := part(ctx); err != nil {
				stop(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	start("coordinator", func(ctx context.Context) error {
		return supervise(ctx, coordinator.Config{
			Bus: b, Name: processName(), Program: ownProgram(), Log: log.With("part", "coordinator"),
			Meter: told.Meter("coordinator/runner"), Tracer: told.Tracer("coordinator/runner"),
		})
	})
	for i := range d.nodes {
		nb, done, err := openEmbedded(server, "node")
		if err != nil {
			return err
		}
		defer done()
		name := "node-" + strconv.Itoa(i)
		start(name, noderunner.New(noderunner.Config{
			Bus: nb, Engine: engines.of[i], Name: name, Program: ownProgram(), Log: log.With("part", name), AnswerTime: d.answerTime,
			Meter: told.Meter("node/runner"), Tracer: told.Tracer("node/runner"), SampleEvery: noderunner.DefaultSampleEvery,
			Facts: events.NodeFacts{
				Address: "127.0.0.1", Ports: split(ports, i, d.nodes),
				Allows: events.NodeAllows{HostPorts: []events.PortRange{{First: 1, Last: math.MaxUint16}}, EngineContext: true}, // dev serves the operator's own machine only
			},
		}).Run)
	}
	fmt.Fprintf(out, "Rookery listens at %s\nIt is open to all processes of this machine.\nTry: export NATS_URL=%s; rookery nodes\nCtrl-C stops it%s.\n",
		server.URL(), server.URL(), map[bool]string{true: " and removes containers and data", false: "; containers and data stay"}[d.clean])
	if address := told.Address(); address != "" {
		fmt.Fprintf(out, "Metrics for Prometheus are at http://%s/metrics.\n", address)
	}
	<-ctx.Done()
	running.Wait()
	if d.clean {
		return errors.Join(cause(ctx), removeAll(b, engines.of[0]))
	}
	return cause(ctx)
}

// cause returns why the parts ended, and nil if the operator stopped them.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func openEmbedded(server *embedded.Server, part string) (*bus.JetStream, func(), error) {
	conn, err := server.Connect("rookery dev " + part)
	if err != nil {
		return nil, nil, err
	}
	return busOn(conn)
}

// prepareBus creates the streams of a new cluster. It creates none for an old cluster: a missing stream was deleted there, and the
// operator must run `rookery bus adopt`.
func prepareBus(ctx context.Context, b *bus.JetStream) error {
	_, err := b.State(ctx, bus.Log)
	if errors.Is(err, bus.ErrNoStream) {
		return b.Init(ctx, 1)
	}
	if err == nil {
		_, err = b.Bucket(ctx, bus.BucketConfigs) // a cluster of an older version lacks it
	}
	return err
}

// removeAll removes every container of the cluster from this machine, of all nodes that ever joined.
func removeAll(b bus.Bus, engine node.Engine) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state, err := b.State(ctx, bus.Log)
	if err != nil {
		return err
	}
	joined, err := b.Bucket(ctx, bus.BucketNodes)
	if err != nil {
		return err
	}
	nodes, err := joined.All(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		containers, err := engine.List(ctx, node.Owner{Cluster: state.Identity, Node: n.Key})
		if err != nil {
			return err
		}
		for _, c := range containers {
			if err := engine.Remove(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}
