package main

import (
	"strings"
	"testing"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func TestADiffHasALineForEachFieldAndForEachObjectThatIsNewOrGone(t *testing.T) {
	var out strings.Builder
	err := printDiff(&out, api.Diff{Changes: []views.Change{
		{Bucket: "policy", Key: "cluster", Field: "liveness", Before: []byte(`{"lost_after":"1m0s"}`), After: []byte(`{"lost_after":"2m0s"}`)},
		{Bucket: bus.BucketInstances, Key: "demo.web.0", Field: "name", Before: []byte(`"web"`)},
		{Bucket: bus.BucketInstances, Key: "demo.web.0", Field: "status", Before: []byte(`"online"`)},
		{Bucket: bus.BucketServices, Key: "demo.api", Field: "name", After: []byte(`"api"`)},
		{Bucket: bus.BucketServices, Key: "demo.api", Field: "spec", After: []byte(`{"image":"localhost/api:1"}`)},
		{Bucket: bus.BucketServices, Key: "demo.api", Field: "state", After: []byte(`"running"`)},
		{Bucket: bus.BucketServices, Key: "demo.web", Field: "busy", After: []byte(`7`)},
		{Bucket: bus.BucketServices, Key: "demo.web", Field: "spec", Before: []byte(`{"image":"a","env":{"A":"1"}}`), After: []byte(`{"image":"b","env":{"A":"1"}}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, lines, _ := strings.Cut(out.String(), "\n")
	const want = `policy  liveness.lost_after: "1m0s" → "2m0s"
slot demo/web/0  is gone
service demo/api  is new: state "running"
service demo/web  busy: 7
service demo/web  spec.image: "a" → "b"
`
	if lines != want {
		t.Errorf("it prints\n%s\nwant\n%s", lines, want)
	}
}
