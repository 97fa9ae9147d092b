package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/coordinator/runner/telemetry"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Defaults and limits of the loop.
const (
	// DefaultHeartbeat is how often nodes are expected to ask.
	DefaultHeartbeat = 5 * time.Second
	// retryAfter is how long the loop rests after an error that it cannot mend.
	retryAfter = time.Second
	// retryFullAfter is that where the server has no room. Somebody has to make some, and every try folds the whole log.
	retryFullAfter = 10 * time.Second
	// keptCommands is how many commands are remembered at most, for projections.KeptCommand: one that is sent again within is known by its id.
	keptCommands = 200_000
	// keptBytes is how much of the stream of commands stays as long. Where there is more, those that are decided go.
	keptBytes = bus.MaxCommandsBytes / 4
	// lookAfter is after how many bytes of commands the leader looks how much there is.
	lookAfter = keptBytes / 4
	// keepEvery is how often the leader looks for commands to let go of.
	keepEvery = 10 * time.Second
)

// Errors that end a term. None is a defect; each is followed by folding the log again.
var (
	// errLost occurs when another coordinator leads.
	errLost = errors.New("another coordinator leads")
	// errClock occurs when the clock here is not that of the server: what is decided by it would come too early or too late.
	errClock = errors.New("the clock here is not that of the NATS server")
	// ErrIdentity occurs when a stream is not the one that the log recorded: it was deleted, made again or restored.
	ErrIdentity = errors.New("a stream is not the one that the log knows")
)

// Config is what a Coordinator needs.
type Config struct {
	Bus bus.Bus
	// Name tells this coordinator from the others; no two may have one name at once.
	Name string
	Log  *slog.Logger
	// Heartbeat is how often nodes ask.
	Heartbeat time.Duration
	// SnapshotEvery is how many messages of the log lie between two snapshots of the fold; 0 for snapshots.DefaultEvery, snapshots.None
	// for none.
	SnapshotEvery uint64
	// Now tells the time of the wall; nil for time.Now. How much time has passed is not asked of it.
	Now func() time.Time
	// Meter makes the instruments; nil where nothing is measured. What is decided is the same.
	Meter metric.Meter
	// Tracer begins spans; nil where nobody is told of them.
	Tracer trace.Tracer
}

// Coordinator leads or stands by.
type Coordinator struct {
	Config

	asks chan ask
	// folds begins folds of the log as this coordinator does.
	folds snapshots.Folds
	// cluster is the state as of the last whole round that this coordinator has folded or closed. Where it is not, as
	// before the first fold and after a round that was not stored, settled is false and nothing is answered from it.
	cluster *projections.Cluster
	settled bool
	leading bool
	// leases is the bucket of the lease, once it is open.
	leases bus.Bucket
	// list climbs whenever every node shall list all that it has.
	list uint64
	// lists has the same of single nodes that returned, where it is above that of all.
	lists  map[string]uint64
	meters *telemetry.Meters
}

// New returns a coordinator that does nothing before Run.
func New(config Config) *Coordinator {
	if config.Heartbeat == 0 {
		config.Heartbeat = DefaultHeartbeat
	}
	if config.SnapshotEvery == 0 {
		config.SnapshotEvery = snapshots.DefaultEvery
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Coordinator{
		Config: config, asks: make(chan ask), cluster: projections.NewCluster(),
		folds: snapshots.NewFolds(config.Bus, config.Log, config.SnapshotEvery),
	}
}

// Run leads or stands by until ctx ends; then it returns nil. It returns an error only where going on would be wrong:
// the log cannot be folded (projections.ErrGap, ErrChain, ErrUnknown), or a stream is another (ErrIdentity) or
// is not there (bus.ErrNoStream).
func (c *Coordinator) Run(ctx context.Context) error {
	meters, err := telemetry.New(c.Meter)
	if err != nil {
		return err
	}
	c.meters = meters
	unobserve, err := meters.Observe(ctx, c.Log, c.Now, c.present)
	if err != nil {
		return err
	}
	defer unobserve()
	server := api.New(api.Config{Bus: c.Bus, Name: c.Name, Now: c.Now, State: c.present, Folds: c.folds})
	stop, err := c.Bus.Serve(server.Questions(ctx))
	if err != nil {
		return err
	}
	defer stop()
	for ctx.Err() == nil {
		err := c.term(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case fatal(err):
			return err
		case errors.Is(err, errLost):
			c.Log.Info("standing by", "reason", err)
		default:
			c.Log.Warn("folding the log again", "error", err, "advice", advice(err))
		}
		if err := c.rest(ctx, restAfter(err)); err != nil {
			return nil
		}
	}
	return nil
}

// restAfter is how long it is of no use to go on after an error that ended a term.
func restAfter(err error) time.Duration {
	if errors.Is(err, bus.ErrFull) {
		return retryFullAfter
	}
	return retryAfter
}

// fatal reports whether an error says that the log or a stream is not what it must be.
func fatal(err error) bool {
	for _, target := range []error{
		projections.ErrGap, projections.ErrChain, projections.ErrUnknown,
		events.ErrMalformed, ErrIdentity, snapshots.ErrTrimmed, bus.ErrNoStream,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// advice says for people what to do about an error that the loop meets again and again.
func advice(err error) string {
	switch {
	case errors.Is(err, errClock):
		return "set both clocks by NTP; until then another coordinator leads, or none"
	case errors.Is(err, bus.ErrFull):
		return "free disk or memory on the NATS server: it is full; nothing acknowledged is lost, and the coordinator goes on by itself"
	case errors.Is(err, bus.ErrUnknown):
		return "see whether the NATS server runs and whether its disk is full; after a failed write its store stays closed" +
			" until it is started again. Nothing acknowledged is lost, and the coordinator goes on by itself"
	case errors.Is(err, bus.ErrNoAnswer):
		return "see whether the NATS server runs and has JetStream enabled"
	}
	return "none needed: the coordinator tries again"
}

// rest answers questions from the state it has.
func (c *Coordinator) rest(ctx context.Context, lasts time.Duration) error {
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case a := <-c.asks:
			a.answer(c)
		}
	}
}

// term follows the log until the lease is won, and then leads until the lead is lost.
func (c *Coordinator) term(ctx context.Context) error {
	f, err := c.follow(ctx)
	if err != nil {
		return err
	}
	defer f.stop()
	l, err := f.standBy(ctx)
	if err != nil {
		return err
	}
	defer l.release(ctx)
	defer l.keep(ctx)()
	return c.lead(ctx, f, l)
}
