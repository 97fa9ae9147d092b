package bus_test

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/rookery-project/rookery/events/bus"
)

// TestAViewIsPublishedAsItChanges listens to one namespace of a view, also of a bucket that was made without that and is migrated.
func TestAViewIsPublishedAsItChanges(t *testing.T) {
	for _, before := range []bool{false, true} {
		b := open(t)
		if before {
			if _, err := api(t, b).CreateKeyValue(within(t), jetstream.KeyValueConfig{
				Bucket: bus.BucketServices, Storage: jetstream.MemoryStorage, History: 1,
			}); err != nil {
				t.Fatal(err)
			}
		}
		services, err := b.Bucket(within(t), bus.BucketServices)
		if err != nil {
			t.Fatal(err)
		}
		all, err := b.Migrations(within(t), 0)
		if err != nil || (len(all) > 0) != before {
			t.Fatalf("made before %v: the plan is %+v, %v", before, all, err)
		}
		for _, m := range all {
			if want := []string{"republish is off and must be $KV.rookery_services.> to rookery.view.services.>"}; !slices.Equal(m.Changes, want) {
				t.Errorf("the plan is %q, want %q", m.Changes, want)
			}
			if err := b.Migrate(within(t), m, func(uint64) {}); err != nil {
				t.Fatal(err)
			}
		}
		heard, err := b.Conn().SubscribeSync("rookery.view.services.demo.>")
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"other.web", "demo.web"} {
			if err := services.Set(within(t), key, []byte(key)); err != nil {
				t.Fatal(err)
			}
		}
		e, err := services.Get(within(t), "demo.web")
		if err == nil {
			err = services.Delete(within(t), "demo.web", e.Revision)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct{ body, operation string }{{"demo.web", ""}, {"", "DEL"}} {
			m, err := heard.NextMsgWithContext(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if operation := m.Header.Get("KV-Operation"); m.Subject != "rookery.view.services.demo.web" || string(m.Data) != want.body || operation != want.operation {
				t.Errorf("heard %q %q on %s, want %+v", m.Data, operation, m.Subject, want)
			}
		}
	}
}
