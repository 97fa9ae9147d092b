package bus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// updateTimeout bounds how long the servers may take to change how a stream is kept.
	updateTimeout = 30 * time.Second
	// syncedEvery is how often Migrate looks whether all servers are up to date.
	syncedEvery = 200 * time.Millisecond
)

// Migration is how a stream, bucket or object store must change to be kept as this program needs it.
type Migration struct {
	// Name is as in Copies.
	Name string `json:"name"`
	// Changes say in words which settings change.
	Changes []string `json:"changes"`

	config jetstream.StreamConfig
}

// Migrations returns what must change for everything to be kept by this many servers, or by as many as the log if replicas is 0, and with the
// settings that this program needs. The log comes first: what is made meanwhile is kept as it is. The error is ErrSettings for a setting
// that no stream can change.
func (b *JetStream) Migrations(ctx context.Context, replicas int) ([]Migration, error) {
	if replicas == 0 {
		var err error
		if replicas, err = b.Replicas(ctx); err != nil {
			return nil, err
		}
	}
	var all []Migration
	list := b.js.ListStreams(ctx)
	for info := range list.Info() {
		if !ours(info.Config.Name) {
			continue
		}
		m, err := migration(info.Config, replicas)
		if err != nil {
			return nil, err
		}
		if len(m.Changes) > 0 {
			all = append(all, m)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list the streams: %w", translate(err))
	}
	slices.SortFunc(all, func(a, b Migration) int {
		return cmp.Or(strings.Compare(string(logFirst(Stream(a.Name))), string(logFirst(Stream(b.Name)))), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// needed returns how a stream must be kept. Of views only the replicas matter, and where the server publishes them.
func needed(current jetstream.StreamConfig, replicas int) jetstream.StreamConfig {
	want := current
	switch name := storeName(current.Name); {
	case slices.Contains(Streams, Stream(current.Name)):
		want = settings(Stream(current.Name), replicas)
	case name == BucketConfigs:
		want = configs(replicas)
	case name == BucketOutput:
		want = output(replicas)
	case name == BucketLease:
		want = leaseBelow(replicas)
	case slices.Contains(Views, name):
		want.RePublish = live(name)
	}
	want.Replicas = replicas
	want.Duplicates = cmp.Or(want.Duplicates, current.Duplicates) // without one the server has chosen
	return want
}

// Close lets the server store nothing more in a stream or bucket: who publishes there hears that no stream takes it. The name is as in Copies. Migrate
// undoes that.
func (b *JetStream) Close(ctx context.Context, name string) error {
	handle, err := b.js.Stream(ctx, streamBelow(name))
	if err != nil {
		return fmt.Errorf("look up %s: %w", name, translate(err))
	}
	config := handle.CachedInfo().Config
	config.Subjects = []string{"rookery.closed." + name} // no program publishes there
	if _, err := b.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("close %s: %w", name, translate(err))
	}
	return nil
}

func migration(current jetstream.StreamConfig, replicas int) (Migration, error) {
	want := needed(current, replicas)
	m := Migration{Name: storeName(current.Name), Changes: differences(current, want), config: adapted(current, want)}
	if current.Storage != want.Storage || current.Retention != want.Retention || (current.DenyDelete && !want.DenyDelete) {
		return m, fmt.Errorf("%s: %w, and it cannot be changed: %s: back the cluster up, delete the stream, and restore it", m.Name, ErrSettings,
			strings.Join(m.Changes, "; "))
	}
	if current.Replicas != want.Replicas {
		m.Changes = append(m.Changes, "replicas is "+strconv.Itoa(current.Replicas)+" and must be "+strconv.Itoa(want.Replicas))
	}
	return m, nil
}

// adapted returns the current settings, with those that this program needs. The others are the operator's.
func adapted(current, want jetstream.StreamConfig) jetstream.StreamConfig {
	c := current
	c.Replicas, c.Subjects, c.Discard, c.MaxAge, c.MaxBytes = want.Replicas, want.Subjects, want.Discard, want.MaxAge, want.MaxBytes
	c.MaxMsgs, c.MaxMsgsPerSubject, c.MaxMsgSize, c.Duplicates = want.MaxMsgs, want.MaxMsgsPerSubject, want.MaxMsgSize, want.Duplicates
	c.DenyDelete, c.AllowAtomicPublish, c.AllowDirect = want.DenyDelete, want.AllowAtomicPublish, current.AllowDirect || want.AllowDirect
	c.AllowMsgTTL, c.RePublish = want.AllowMsgTTL, want.RePublish
	c.Metadata = maps.Clone(current.Metadata)
	if schema, has := want.Metadata[metadataSchema]; has {
		c.Metadata[metadataSchema] = schema
	}
	return c
}

// Migrate carries a migration out, and returns once every server that is to keep the stream has all of it. told takes how many messages the
// slowest one lacks.
func (b *JetStream) Migrate(ctx context.Context, m Migration, told func(lag uint64)) error {
	call, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	if _, err := b.js.UpdateStream(call, m.config); err != nil {
		return fmt.Errorf("change %s: %w", m.Name, translate(err))
	}
	look := time.NewTicker(syncedEvery)
	defer look.Stop()
	for {
		lag, synced := b.synced(ctx, m.config)
		if synced {
			return nil
		}
		told(lag)
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until all servers have %s: %w", m.Name, ctx.Err())
		case <-look.C:
		}
	}
}

// synced reports whether all servers that are to keep the stream have all of it. If it cannot find out, it reports false.
func (b *JetStream) synced(ctx context.Context, want jetstream.StreamConfig) (lag uint64, synced bool) {
	call, cancel := context.WithTimeout(ctx, copiesFor)
	defer cancel()
	handle, err := b.js.Stream(call, want.Name)
	if err != nil {
		return 0, false
	}
	info := handle.CachedInfo()
	if info.Config.Replicas != want.Replicas {
		return 0, false
	}
	if info.Cluster == nil { // a server without others
		return 0, want.Replicas == 1
	}
	current := 0
	for _, r := range info.Cluster.Replicas {
		lag = max(lag, r.Lag)
		if r.Current && !r.Offline && r.Lag == 0 {
			current++
		}
	}
	return lag, info.Cluster.Leader != "" && current == len(info.Cluster.Replicas) && current == want.Replicas-1
}
