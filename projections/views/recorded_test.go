package views_test

import (
	"cmp"
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/rookery-project/rookery/events/golden"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

var writeRecorded = flag.Bool("write-recorded", false, "write the hashes of the recorded logs' views to testdata")

// TestRecordedLogsAreShownAsBefore compares all values of all buckets, after every tenth round of each recorded log, with their hashes when the
// file was written. How the state is kept may change; its views may not.
func TestRecordedLogsAreShownAsBefore(t *testing.T) {
	const apart, kept = 10, "testdata/recorded.txt"
	shown := ""
	for _, name := range golden.Names() {
		log, err := golden.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		fold, values, sum := projections.NewFold(), 0, sha256.New()
		for _, m := range log {
			if _, err := fold.Take(m); err != nil {
				t.Fatal(err)
			}
			c := fold.Cluster
			if c.Sequence != m.Sequence || c.Round%apart != 0 {
				continue
			}
			all := views.All(c).Values
			for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b views.Key) int { return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Key, b.Key)) }) {
				fmt.Fprintf(sum, "%d %s %s %s\n", c.Round, key.Bucket, key.Key, all[key])
				values++
			}
		}
		shown += fmt.Sprintf("%x %d values of %s\n", sum.Sum(nil), values, name)
	}
	if *writeRecorded {
		if err := os.WriteFile(kept, []byte(shown), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) != shown {
		t.Errorf("the views of a recorded log differ from before, or a log is new. If that is intended, run\n"+
			"go test ./projections/views -run RecordedLogs -write-recorded\nbefore:\n%snow:\n%s", was, shown)
	}
}
