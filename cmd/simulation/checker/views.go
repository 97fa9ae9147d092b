package checker

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// Views checks that the buckets hold what the log folds to, key by key, and that what waits says why.
func (c *Checker) Views() {
	c.follow(c.log.last)
	for _, id := range slices.SortedFunc(maps.Keys(c.fold.Services), events.ServiceID.Compare) {
		if s := c.fold.Services[id]; s.Lacks() {
			if why := c.fold.WhyPending(s); why == "" || strings.Contains(why, "not decided") {
				c.breach("reasons", "%s lacks an instance and says %q", id, why)
			}
		}
	}
	want := views.All(c.fold).Values
	maps.DeleteFunc(want, func(_ views.Key, value []byte) bool { return value == nil })
	for _, name := range bus.Views {
		for _, e := range c.entries(name) {
			key := views.Key{Bucket: name, Key: e.Key}
			if !bytes.Equal(timeless(want[key]), timeless(e.Value)) {
				c.breach("views", "%s/%s is %s, and the log says %s", name, e.Key, e.Value, want[key])
				return
			}
			delete(want, key)
		}
	}
	for key := range want {
		c.breach("views", "%s/%s is missing", key.Bucket, key.Key)
		return
	}
}

func (c *Checker) entries(name string) []bus.Entry {
	b, err := c.Server.Bucket(context.Background(), name)
	if err == nil {
		var all []bus.Entry
		if all, err = b.All(context.Background()); err == nil {
			return all
		}
	}
	c.breach("views", "%v", err)
	return nil
}

// timeless is a view without the place in the log at which it was written: one that says the same is not written again.
func timeless(view []byte) []byte {
	return view[:max(bytes.LastIndex(view, []byte(`,"sequence":`)), 0)]
}
