package bus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ObjectsVolumes is where nodes keep what volumes of services held as snapshots were taken, each under the SHA-256 of its content.
const ObjectsVolumes = "rookery_volumes"

// ObjectsFolds is where leaders keep snapshots of the fold. The runner of the coordinator names them, and lets go of old ones.
const ObjectsFolds = "rookery_snapshots"

const (
	// SweptAfter is how old an object of ObjectsVolumes is at least that the leader removes because no snapshot names it.
	SweptAfter = 4 * time.Hour
	// maxVolumesBytes bounds all that is kept of volumes. The log may be on the same disk.
	maxVolumesBytes = 4 << 30
	// partBytes is the size of a part of an object.
	partBytes = 128 << 10
	// partTimeout bounds the storing of one.
	partTimeout = 10 * time.Second
)

// Objects keeps what is too large for a message, by name.
type Objects interface {
	// Put stores the content under the name instead of what was there. Where reading the content fails, or ctx ends, nothing is
	// stored, and what was there stays. Errors are that of the content, ErrFull and ErrUnknown.
	Put(ctx context.Context, name string, content io.Reader) error
	// Stat returns what there is under the name, or ErrNoKey, which it is as well where not all of the content is there: putting it
	// has failed.
	Stat(ctx context.Context, name string) (Object, error)
	// Touch has what there is under the name be stored now.
	Touch(ctx context.Context, name string) error
	// Get reads what there is under the name, or returns ErrNoKey, as reading does where that is not what was put. The caller closes it, and
	// reads it within ctx.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// All returns every object, in no order.
	All(ctx context.Context) ([]Object, error)
	// Delete removes what there is under the name, be it nothing.
	Delete(ctx context.Context, name string) error
	// Tidy removes the parts of objects that their writers never finished, as those of a process that ended in the middle. It leaves an
	// object of which a part was stored at this time or later: its writer may still store the rest.
	Tidy(ctx context.Context, before time.Time) error
}

// Object is what is kept under a name.
type Object struct {
	Name string
	// Size is in bytes.
	Size int64
	// Stored is the server's time.
	Stored time.Time
}

type objects struct {
	bus  *JetStream
	name string
}

// Objects implements Bus. The store is made as something is first put into it.
func (b *JetStream) Objects(name string) Objects { return objects{b, name} }

// open returns the store, or ErrNoKey where nothing was put into it yet.
func (o objects) open(ctx context.Context) (jetstream.ObjectStore, error) {
	store, err := o.bus.js.ObjectStore(ctx, o.name)
	if err != nil {
		return nil, fmt.Errorf("open object store %s: %w", o.name, translate(err))
	}
	return store, nil
}

func (o objects) make(ctx context.Context) (jetstream.ObjectStore, error) {
	replicas, err := o.bus.Replicas(ctx)
	if err != nil {
		return nil, err
	}
	return o.bus.js.CreateObjectStore(ctx, objectStore(o.name, replicas))
}

// Put implements Objects.
func (o objects) Put(ctx context.Context, name string, content io.Reader) error {
	store, err := o.open(ctx)
	if errors.Is(err, ErrNoKey) {
		store, err = o.make(ctx)
	}
	if err != nil {
		return fmt.Errorf("make object store %s: %w", o.name, translate(err))
	}
	info, err := o.putParts(ctx, content)
	if err == nil {
		err = o.putEntry(ctx, store, name, info)
	}
	if err != nil {
		o.takeBack(context.WithoutCancel(ctx), info.NUID)
		return fmt.Errorf("put object %s into %s: %w", name, o.name, translate(err))
	}
	return nil
}

// putEntry names the parts as the object's, and removes those that it had before.
func (o objects) putEntry(ctx context.Context, store jetstream.ObjectStore, name string, info jetstream.ObjectInfo) error {
	before, err := store.GetInfo(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	info.Name, info.Opts = name, &jetstream.ObjectMetaOptions{ChunkSize: partBytes}
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	entry := &nats.Msg{
		Subject: "$O." + o.name + ".M." + base64.URLEncoding.EncodeToString([]byte(name)),
		Header:  nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, Data: body,
	}
	if err := o.store(ctx, entry); err != nil {
		return err
	}
	if before != nil {
		o.takeBack(ctx, before.NUID)
	}
	return nil
}

func (o objects) store(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	_, err := o.bus.js.PublishMsg(ctx, m)
	return err
}

// takeBack removes parts that no entry names. Where it fails Tidy finds them.
func (o objects) takeBack(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	if below, err := o.below(ctx); err == nil {
		_ = below.Purge(ctx, jetstream.WithPurgeSubject(o.partsOf(id)))
	}
}

// objectStore returns how the store is kept.
func objectStore(name string, replicas int) jetstream.ObjectStoreConfig {
	c := jetstream.ObjectStoreConfig{Bucket: name, Replicas: replicas}
	switch name {
	case ObjectsVolumes:
		c.Description = "Contents of volumes at the time of a snapshot, compressed by zstd. Get one with: nats object get " + name + " <digest>"
		c.MaxBytes = maxVolumesBytes
	case ObjectsFolds:
		c.Description = "The state at some sequences of ROOKERY_LOG, so that a reader need not fold it from its first message. All may be deleted at any time."
	}
	return c
}

// Stat implements Objects.
func (o objects) Stat(ctx context.Context, name string) (Object, error) {
	store, err := o.open(ctx)
	if err != nil {
		return Object{}, err
	}
	info, err := store.GetInfo(ctx, name)
	if err != nil {
		return Object{}, fmt.Errorf("look at object %s of %s: %w", name, o.name, translate(err))
	}
	found, err := o.parts(ctx, info.NUID)
	if err != nil {
		return Object{}, err
	}
	if found[o.partsOf(info.NUID)] != uint64(info.Chunks) {
		return Object{}, fmt.Errorf("look at object %s of %s: %w: of %d parts there are %d", name, o.name, ErrNoKey, info.Chunks, found[o.partsOf(info.NUID)])
	}
	return object(info), nil
}

// partsOf is the subject of an object's parts, by which its entry names them.
func (o objects) partsOf(id string) string { return "$O." + o.name + ".C." + id }

// parts counts the parts of objects by their subjects.
func (o objects) parts(ctx context.Context, of string) (map[string]uint64, error) {
	below, err := o.below(ctx)
	if err != nil {
		return nil, err
	}
	found, err := below.Info(ctx, jetstream.WithSubjectFilter(o.partsOf(of)))
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", o.name, translate(err))
	}
	return found.State.Subjects, nil
}

func (o objects) below(ctx context.Context) (jetstream.Stream, error) {
	below, err := o.bus.js.Stream(ctx, "OBJ_"+o.name)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", o.name, translate(err))
	}
	return below, nil
}

// Touch implements Objects. The entry alone is written again.
func (o objects) Touch(ctx context.Context, name string) error {
	store, err := o.open(ctx)
	if err != nil {
		return err
	}
	info, err := store.GetInfo(ctx, name)
	if err == nil {
		err = store.UpdateMeta(ctx, name, info.ObjectMeta)
	}
	if err != nil {
		return fmt.Errorf("touch object %s of %s: %w", name, o.name, translate(err))
	}
	return nil
}

func object(info *jetstream.ObjectInfo) Object {
	return Object{Name: info.Name, Size: contentSize(info), Stored: info.ModTime}
}

// Get implements Objects.
func (o objects) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	store, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	content, err := store.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read object %s of %s: %w", name, o.name, translate(err))
	}
	return unpack(content)
}

// All implements Objects.
func (o objects) All(ctx context.Context) ([]Object, error) {
	store, err := o.open(ctx)
	if errors.Is(err, ErrNoKey) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	infos, err := store.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list objects of %s: %w", o.name, translate(err))
	}
	all := make([]Object, 0, len(infos))
	for _, info := range infos {
		all = append(all, object(info))
	}
	return all, nil
}

// Delete implements Objects.
func (o objects) Delete(ctx context.Context, name string) error {
	store, err := o.open(ctx)
	if err == nil {
		err = translate(store.Delete(ctx, name))
	}
	if err == nil || errors.Is(err, ErrNoKey) {
		return nil
	}
	return fmt.Errorf("delete object %s of %s: %w", name, o.name, err)
}

// Tidy implements Objects.
func (o objects) Tidy(ctx context.Context, before time.Time) error {
	store, err := o.open(ctx)
	if errors.Is(err, ErrNoKey) {
		return nil
	}
	if err != nil {
		return err
	}
	below, err := o.below(ctx)
	if err != nil {
		return err
	}
	parts, err := o.parts(ctx, ">")
	if err != nil {
		return err
	}
	whole, err := store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return fmt.Errorf("list objects of %s: %w", o.name, translate(err))
	}
	for _, info := range whole {
		delete(parts, o.partsOf(info.NUID))
	}
	for subject := range parts {
		if err := tidy(ctx, below, subject, before); err != nil {
			return fmt.Errorf("remove %s: %w", subject, translate(err))
		}
	}
	return nil
}

func tidy(ctx context.Context, below jetstream.Stream, subject string, before time.Time) error {
	last, err := below.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil || !last.Time.Before(before) {
		return err
	}
	return below.Purge(ctx, jetstream.WithPurgeSubject(subject))
}
