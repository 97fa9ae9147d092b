package runner

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
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
	// DefaultHeartbeat is how often nodes send a heartbeat.
	DefaultHeartbeat = 5 * time.Second
	// confirmFor is how long a stream must be said to be another one, missing or damaged, before the coordinator ends. NATS lets a leader that
	// hears nothing of the others go on for up to 20 seconds. Any server that keeps the log may deliver it, and the copy of one may be damaged.
	confirmFor = 30 * time.Second
	// retryAfter is how long the loop waits after an error that it cannot repair.
	retryAfter = time.Second
	// retryFullAfter is the same wait when the server has no room. An operator must make room, and every try folds the whole log.
	retryFullAfter = 10 * time.Second
	// keptCommands is how many commands are remembered at most, for projections.KeptCommand. A command that is sent again in that time is
	// recognized by its id.
	keptCommands = 200_000
	// keptBytes is how much of the stream of commands is kept for that time. If the stream holds more, decided commands are purged.
	keptBytes = bus.MaxCommandsBytes / 4
	// lookAfter is after how many bytes of commands the leader checks how much the stream holds.
	lookAfter = keptBytes / 4
	// keepEvery is how often the leader looks for commands to purge.
	keepEvery = 10 * time.Second
)

// Errors that end a term. They are not defects; after each the coordinator folds the log again.
var (
	// errLost occurs when another coordinator leads.
	errLost = errors.New("another coordinator leads")
	// errClock occurs when this clock differs from that of the server: decisions by it would come too early or too late.
	errClock = errors.New("the clock of this host differs from that of the NATS server")
	// ErrIdentity occurs when a stream is not the one that the log recorded: it was deleted, created again or restored.
	ErrIdentity = errors.New("a stream is not the one that the log knows")
)

// Config is what a Coordinator needs.
type Config struct {
	Bus bus.Bus
	// Name identifies this coordinator; two must not have the same name at once.
	Name string
	// Program is the Rookery that this process runs. It stands by in a cluster at a level that is not among its own.
	// A new cluster begins at its highest.
	Program events.Program
	Log     *slog.Logger
	// Heartbeat is how often nodes send a heartbeat.
	Heartbeat time.Duration
	// Signers have the keys with which this coordinator may sign rounds; none where accounts are off.
	Signers Signers
	// Admission lets nodes join; nil where they do not join with this coordinator.
	Admission *Admission
	// SnapshotEvery is how many messages of the log lie between two snapshots of the fold; 0 for snapshots.DefaultEvery, snapshots.None
	// for none.
	SnapshotEvery uint64
	// Now returns the wall clock's time; nil for time.Now. Durations are not measured with it.
	Now func() time.Time
	// Meter makes the instruments; nil to measure nothing. Decisions do not depend on it.
	Meter metric.Meter
	// Tracer begins spans; nil for no spans.
	Tracer trace.Tracer
}

// Coordinator is a leader or a standby.
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
	// verifies says that folds verify each signature, because the log has rounds of others.
	verifies bool
	// heard is when this coordinator last learned that it has the end of the log: from the log itself, or from the lease.
	heard time.Time
	// quorum is what the last calls have told of the servers. Other goroutines may read it.
	quorum atomic.Int64
	// leases is the bucket of the lease, once it is open.
	leases bus.Bucket
	// list increases whenever every node must list all that it has.
	list uint64
	// lists has the same for single nodes that returned, if it is above list.
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
		folds: snapshots.NewFolds(config.Bus, config.Log, config.SnapshotEvery, config.Signers),
	}
}

// Run leads or stands by until ctx ends; then it returns nil. In a cluster for which the program is too old it does nothing, and says so. It
// returns an error only if it must not continue: the log cannot be folded (projections.ErrGap, ErrChain), or a stream is another one
// (ErrIdentity) or is missing (bus.ErrNoStream).
func (c *Coordinator) Run(ctx context.Context) error {
	meters, err := telemetry.New(c.Meter)
	if err != nil {
		return err
	}
	c.meters = meters
	unobserve, err := meters.Observe(ctx, c.Log, c.Now, c.agree, c.present)
	if err != nil {
		return err
	}
	defer unobserve()
	defer beside(ctx, c.keepLed)()
	for ctx.Err() == nil {
		err := c.serve(ctx)
		if outdated(err) {
			err = c.awaitUpgrade(ctx, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// serve answers questions, and leads or stands by.
func (c *Coordinator) serve(ctx context.Context) error {
	server := api.New(api.Config{Bus: c.Bus, Name: c.Name, Now: c.Now, State: c.present, Folds: c.folds})
	stop, err := c.Bus.Serve(c.self(), server.Questions(ctx))
	if err != nil {
		return err
	}
	defer stop()
	var doubtedSince time.Time
	for ctx.Err() == nil {
		began := time.Now()
		err := c.term(ctx)
		c.learn(err)
		switch now := time.Now(); {
		case !doubtful(err):
			doubtedSince = time.Time{}
		case doubtedSince.IsZero() || now.Sub(began) > confirmFor: // a long term has had other answers meanwhile
			doubtedSince = now
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case doubtful(err) && time.Since(doubtedSince) < confirmFor:
			c.settled = false // an operator may just make the streams others, so nothing is answered from the state of before
			c.Log.Warn("asking again about the streams", "error", err, "for", confirmFor,
				"advice", "none needed yet: one server may answer with the state of before, or have a damaged copy")
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

// beside runs the function until it is told to stop, which waits for it.
func beside(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// restAfter is how long to wait after an error that ended a term.
func restAfter(err error) time.Duration {
	if errors.Is(err, bus.ErrFull) {
		return retryFullAfter
	}
	return retryAfter
}

// doubtful reports whether an error says that a stream is not what it must be, by the word of one server. A server that was cut off from the
// others answers with the state of before, until it learns that it does not lead the stream any more. One with a damaged disk has a copy of the
// log that the others do not have, and each reader gets another server.
func doubtful(err error) bool {
	return errors.Is(err, ErrIdentity) || errors.Is(err, bus.ErrNoStream) || projections.Damaged(err)
}

// fatal reports whether an error says that the log or a stream is not what it must be.
func fatal(err error) bool {
	return doubtful(err) || outdated(err) || errors.Is(err, snapshots.ErrTrimmed)
}

// advice tells operators what to do about an error that the loop may meet repeatedly.
func advice(err error) string {
	switch {
	case errors.Is(err, errClock):
		return "synchronize both clocks with NTP; until then this coordinator does not lead"
	case errors.Is(err, bus.ErrFull):
		return "free disk or memory on the NATS server: it is full; nothing acknowledged is lost, and the coordinator continues on its own"
	case errors.Is(err, bus.ErrNoQuorum):
		return "start the NATS servers that do not run, and let them reach each other; nothing acknowledged is lost, and the coordinator" +
			" continues on its own"
	case errors.Is(err, bus.ErrUnknown):
		return "check that the NATS server runs and has free disk; after a failed write its store stays closed" +
			" until you restart the server. Nothing acknowledged is lost, and the coordinator continues on its own"
	case errors.Is(err, bus.ErrNoAnswer):
		return "check that the NATS server runs and has JetStream enabled"
	}
	return "none needed: the coordinator tries again"
}

// rest answers questions from the last known state while it waits.
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
			a(c)
		}
	}
}

// term follows the log until it wins the lease, and then leads until it loses the lead.
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
