package node

import (
	"maps"

	"github.com/rookery-project/rookery/events"
)

// PlanImages are what names of images in the spec stand for in a container to be made: what the order says goes before
// what the instance was made from.
func (v View) PlanImages() map[string]string { return merged(v.Images, v.Order.Images) }

// merged returns both, the later over the earlier. It changes neither: earlier views keep theirs.
func merged(earlier, later map[string]string) map[string]string {
	if len(later) == 0 {
		return earlier
	}
	both := make(map[string]string, len(earlier)+len(later))
	maps.Copy(both, earlier)
	maps.Copy(both, later)
	return both
}

// digests are those that names of images stand for; nil for none.
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
