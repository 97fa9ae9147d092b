package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nuid"
)

// ErrSettings occurs when a stream stands with other settings than it must have.
var ErrSettings = errors.New("the stream has other settings than it must have")

// Finding is what a check says of one stream.
type Finding struct {
	Stream   Stream `json:"stream"`
	Identity string `json:"identity,omitempty"`
	Missing  bool   `json:"missing,omitempty"`
	// Restoring says that the log is being filled from a backup.
	Restoring bool `json:"restoring,omitempty"`
	// Domain is that of the JetStream that lacks the stream; "" where it has none. A leaf node may be such a server.
	Domain string `json:"domain,omitempty"`
	// Differences say in words which settings are others than they must be. Older says that an older Rookery made the stream so, which
	// works until it is migrated.
	Differences []string `json:"differences,omitempty"`
	Older       bool     `json:"older,omitempty"`
}

// Err returns nil for a stream that is as it must be, else ErrNoStream or ErrSettings with what to do.
func (f Finding) Err() error {
	switch {
	case f.Missing && f.Domain != "":
		return fmt.Errorf("stream %s: %w in the domain %q", f.Stream, ErrNoStream, f.Domain)
	case f.Restoring:
		return fmt.Errorf("stream %s: %w: %w", f.Stream, ErrNoStream, ErrRestoring)
	case f.Missing:
		return fmt.Errorf("stream %s: %w: make it with `rookery bus init`", f.Stream, ErrNoStream)
	case len(f.Differences) > 0 && !f.Older:
		return fmt.Errorf("stream %s: %w: %s: change it with `rookery bus migrate`", f.Stream, ErrSettings, strings.Join(f.Differences, "; "))
	case f.Identity == "":
		return fmt.Errorf("stream %s: %w: it has no %s in its metadata, so Rookery did not make it",
			f.Stream, ErrSettings, metadataIdentity)
	}
	return nil
}

// Check looks at every stream and says what it finds, in the order of Streams.
func (b *JetStream) Check(ctx context.Context) ([]Finding, error) {
	findings := make([]Finding, 0, len(Streams))
	for _, stream := range Streams {
		f := Finding{Stream: stream}
		handle, err := b.js.Stream(ctx, string(stream))
		switch {
		case err == nil:
			config := handle.CachedInfo().Config
			f.Identity, f.Restoring = config.Metadata[metadataIdentity], restoring(config)
			f.Differences = differences(config, settings(stream, config.Replicas))
			f.Older = older(config)
		case errors.Is(translate(err), ErrNoStream):
			f.Missing, f.Domain = true, b.conn.ConnectedDomain()
		default:
			return nil, fmt.Errorf("look up stream %s: %w", stream, b.placed(translate(err)))
		}
		findings = append(findings, f)
	}
	return findings, nil
}

func logFirst(s Stream) Stream {
	if s == Log {
		return ""
	}
	return s
}

// errLogMissing says what to do where the log alone is gone: another one would forget every service and decision.
func errLogMissing() error {
	return fmt.Errorf("stream %s: %w, while others stand: restore it with `rookery bus restore DIR`; to start over"+
		" without its history, delete the others first", Log, ErrNoStream)
}

// Init makes the streams that are missing, each with an identity of its own, and the buckets of configs and outputs, or
// returns the first error of Check. It makes no new log beside streams of an old one, and nothing on a server that is too old.
func (b *JetStream) Init(ctx context.Context, replicas int) error {
	if err := b.connected().Err(); err != nil {
		return err
	}
	findings, err := b.Check(ctx)
	if err != nil {
		return err
	}
	if stands := func(f Finding) bool { return !f.Missing }; slices.ContainsFunc(findings, stands) {
		if i := slices.IndexFunc(findings, func(f Finding) bool { return f.Stream == Log }); findings[i].Missing {
			return errLogMissing()
		}
	}
	// The log comes first: what was begun and not finished can then be told from a log that was lost.
	slices.SortStableFunc(findings, func(a, b Finding) int { return strings.Compare(string(logFirst(a.Stream)), string(logFirst(b.Stream))) })
	for _, f := range findings {
		if !f.Missing {
			if err := f.Err(); err != nil {
				return err
			}
			continue
		}
		if err := b.create(ctx, f.Stream, replicas); err != nil {
			return err
		}
	}
	for _, name := range []string{BucketConfigs, BucketOutput} {
		if _, err := b.Bucket(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (b *JetStream) create(ctx context.Context, stream Stream, replicas int) error {
	config := settings(stream, replicas)
	// Of a generator of its own: names of containers carry the first digits, which one generator gives to all.
	config.Metadata[metadataIdentity], config.Metadata[metadataAccounts] = strings.ToLower(nuid.New().Next()), b.accounts()
	if _, err := b.js.CreateStream(ctx, config); err != nil {
		return fmt.Errorf("make stream %s: %w", stream, translate(err))
	}
	return nil
}

// renewMetricsFor is how long Renew looks for the stream of metrics, without which a coordinator can lead.
const renewMetricsFor = time.Second

// Renew implements Bus.
func (b *JetStream) Renew(ctx context.Context) error {
	if err := b.renew(ctx, Statuses); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, renewMetricsFor)
	defer cancel()
	_ = b.renew(ctx, Metrics) // the next leader tries again
	return nil
}

// renew makes the stream if it is missing.
func (b *JetStream) renew(ctx context.Context, stream Stream) error {
	if _, err := b.State(ctx, stream); !errors.Is(err, ErrNoStream) {
		return err
	}
	replicas, err := b.Replicas(ctx)
	if err != nil {
		return err
	}
	return b.create(ctx, stream, replicas)
}
