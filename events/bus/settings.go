package bus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events"
)

// The metadata of a stream of ours.
const (
	metadataIdentity = "rookery.id"
	metadataSchema   = "rookery.schema"
	metadataAccounts = "rookery.accounts"
	// schemaVersion is the version of the streams' settings and subjects.
	schemaVersion = "1"
)

const (
	// MaxCommand is the greatest size of a command in bytes; the server refuses larger ones.
	MaxCommand = 64 << 10

	// MaxCommandsBytes is what all commands that are stored may take; the server refuses more.
	MaxCommandsBytes = 64 << 20

	maxStatusBytes  = 256 << 20
	maxMetricsBytes = 64 << 20
	maxMetric       = 4 << 10
	maxConfigsBytes = 64 << 20
	configHistory   = 5
	maxOutputBytes  = 32 << 20
	outputHeaders   = 1 << 10 // a client's own, which count
	statusAge       = time.Hour
	metricsAge      = 10 * time.Minute
	shortestWindow  = 100 * time.Millisecond
)

// settings returns how the stream is kept.
func settings(stream Stream, replicas int) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:       string(stream),
		Replicas:   replicas,
		Duplicates: shortestWindow,
		Metadata:   map[string]string{metadataSchema: schemaVersion, metadataAccounts: accountsOff},
	}
	switch stream {
	case Commands:
		c.Description = "Commands of operators. Publish them to rookery.cmd.service.<namespace>.<name>.<verb>."
		c.Subjects = []string{events.CommandRoot + ".>"}
		c.Discard, c.MaxBytes, c.MaxMsgSize = jetstream.DiscardNew, MaxCommandsBytes, MaxCommand
	case Statuses:
		c.Description = "Statuses of nodes. The leader copies them into ROOKERY_LOG."
		c.Subjects = []string{events.StatusRoot + ".>"}
		c.Storage, c.MaxAge, c.MaxBytes = jetstream.MemoryStorage, statusAge, maxStatusBytes
	case Log:
		c.Description = "Every decision. Only the leading coordinator writes it; subscribe to rookery.event.>."
		c.Subjects = []string{events.LogRoot + ".>"}
		c.DenyDelete, c.AllowAtomicPublish, c.AllowDirect = true, true, true
		c.RePublish = &jetstream.RePublish{Source: events.LogRoot + ".>", Destination: events.EventRoot + ".>"}
	case Orders:
		c.Description = "Orders that hold for nodes now. Only the leading coordinator writes it."
		c.Subjects = []string{events.OrdersRoot + ".>"}
		c.MaxMsgsPerSubject = 1
		c.AllowAtomicPublish, c.AllowMsgTTL, c.AllowDirect = true, true, true
		c.RePublish = &jetstream.RePublish{Source: events.OrdersRoot + ".>", Destination: events.OrderRoot + ".>"}
	case Metrics:
		c.Description = "Resources that instances use now."
		c.Subjects = []string{events.MetricRoot + ".>"}
		c.Storage, c.MaxAge, c.MaxBytes = jetstream.MemoryStorage, metricsAge, maxMetricsBytes
		c.MaxMsgSize = maxMetric
		c.MaxMsgsPerSubject, c.AllowDirect = 1, true // readers get the latest message alone, and a large fleet has room for that
	}
	return c
}

// configs returns how the stream below the bucket of the configs is kept: as NATS keeps those of buckets, except that only the stream's
// leader answers. A follower that lags would answer with the old value right after an operator put a new one.
func configs(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        "KV_" + BucketConfigs,
		Description: "Configs that specs name. Put one with: nats kv put " + BucketConfigs + " <namespace>.<name>",
		Subjects:    []string{"$KV." + BucketConfigs + ".>"},
		Replicas:    replicas,
		MaxMsgSize:  MaxConfig, MaxBytes: maxConfigsBytes, MaxMsgsPerSubject: configHistory,
		Discard: jetstream.DiscardNew, DenyDelete: true, AllowRollup: true,
		Metadata: map[string]string{metadataSchema: schemaVersion},
	}
}

// output returns how the stream below the bucket of outputs is kept. It is in memory alone: output may hold secrets, which must not reach a
// disk. Where there is no room the server removes the oldest: operators look into the latest failure.
func output(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        "KV_" + BucketOutput,
		Description: "Last output of containers that failed. Read one with: nats kv get --raw " + BucketOutput + " <key of the event>",
		Subjects:    []string{"$KV." + BucketOutput + ".>"},
		Replicas:    replicas,
		Storage:     jetstream.MemoryStorage, MaxAge: OutputAge,
		MaxMsgSize: events.MaxOutput + outputHeaders, MaxBytes: maxOutputBytes, MaxMsgsPerSubject: 1,
		Discard: jetstream.DiscardOld, DenyDelete: true, AllowRollup: true,
		Metadata: map[string]string{metadataSchema: schemaVersion},
	}
}

// leaseBelow returns how the stream below the bucket of the lease is kept. Only the stream's leader answers: a server that is cut off would
// tell of a lease that has ended, or of none.
func leaseBelow(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        "KV_" + BucketLease,
		Description: "The coordinator that leads, for as long as it renews this.",
		Subjects:    []string{"$KV." + BucketLease + ".>"},
		Replicas:    replicas,
		Storage:     jetstream.MemoryStorage, MaxAge: LeaseAge, MaxMsgsPerSubject: 1, Duplicates: LeaseAge,
		Discard: jetstream.DiscardNew, DenyDelete: true, AllowRollup: true,
		Metadata: map[string]string{metadataSchema: schemaVersion},
	}
}

// live returns where the server publishes what is written to a view. A client without rights to read the bucket can listen there: the subject
// has the namespace.
func live(view string) *jetstream.RePublish {
	return &jetstream.RePublish{Source: "$KV." + view + ".>", Destination: events.ViewRoot + "." + ViewOf(view) + ".>"}
}

// viewBucket is how the names of all buckets begin.
const viewBucket = "rookery_"

// ViewOf returns the name of the view in a bucket, as subjects and questions have it.
func ViewOf(bucket string) string { return strings.TrimPrefix(bucket, viewBucket) }

// differences says in words where a standing stream is kept otherwise than it must be. Replicas are the operator's.
func differences(got, want jetstream.StreamConfig) []string {
	var d []string
	add := func(name string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			d = append(d, fmt.Sprintf("%s is %s and must be %s", name, g, w))
		}
	}
	add("subjects", strings.Join(got.Subjects, " "), strings.Join(want.Subjects, " "))
	add("storage", got.Storage, want.Storage)
	add("retention", got.Retention, want.Retention)
	add("discard policy", got.Discard, want.Discard)
	add("max age", got.MaxAge, want.MaxAge)
	add("max bytes", unlimited(got.MaxBytes), unlimited(want.MaxBytes))
	add("max messages", unlimited(got.MaxMsgs), unlimited(want.MaxMsgs))
	add("max messages per subject", unlimited(got.MaxMsgsPerSubject), unlimited(want.MaxMsgsPerSubject))
	add("max message size", unlimited(int64(got.MaxMsgSize)), unlimited(int64(want.MaxMsgSize)))
	add("de-duplication window", got.Duplicates, want.Duplicates)
	add("deny delete", got.DenyDelete, want.DenyDelete)
	add("atomic publish", got.AllowAtomicPublish, want.AllowAtomicPublish)
	add("direct get", got.AllowDirect || !want.AllowDirect, true)
	add("message TTL", got.AllowMsgTTL, want.AllowMsgTTL)
	add("republish", republish(got.RePublish), republish(want.RePublish))
	add("schema version", got.Metadata[metadataSchema], want.Metadata[metadataSchema])
	return slices.Clip(d)
}

// older reports whether an older Rookery made the stream.
func older(c jetstream.StreamConfig) bool {
	made, err := strconv.Atoi(c.Metadata[metadataSchema])
	own, ownErr := strconv.Atoi(schemaVersion)
	return err == nil && ownErr == nil && made < own
}

func unlimited(n int64) string {
	if n <= 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

func republish(r *jetstream.RePublish) string {
	if r == nil {
		return "off"
	}
	return r.Source + " to " + r.Destination
}
