package node

import "maps"

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
