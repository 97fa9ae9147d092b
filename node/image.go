package node

import (
	"maps"

	"github.com/rookery-project/rookery/events"
)

// PlanImages returns the references that image names in the spec resolve to for a new container. Those of the order take precedence
// over those of earlier containers.
func (v View) PlanImages() map[string]string { return merged(v.Images, v.Order.Images) }

// merged returns the entries of both; those of later take precedence. It changes neither map, because earlier views keep theirs.
func merged(earlier, later map[string]string) map[string]string {
	if len(later) == 0 {
		return earlier
	}
	both := make(map[string]string, len(earlier)+len(later))
	maps.Copy(both, earlier)
	maps.Copy(both, later)
	return both
}

// digests returns the digests that image names resolve to; nil for none.
func (v View) digests() map[string]string {
	if len(v.Images) == 0 {
		return nil
	}
	digests := make(map[string]string, len(v.Images))
	for name, reference := range v.Images {
		if digest := events.Digest(reference); events.IsDigest(digest) {
			digests[name] = digest
		}
	}
	return digests
}
