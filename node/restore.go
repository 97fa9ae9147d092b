package node

import (
	"context"
	"io"
	"strconv"

	"github.com/rookery-project/rookery/events"
)

// The labels of a volume record what it was filled from; they never change. While the volume is not full, a mark exists beside it: the
// node removes the mark last, once the volume holds everything. If the node or the engine ends in the middle, the node fills the
// volume again. It never refills a full volume, even if containers have written to it. An operator who removes unused volumes cannot
// remove the mark of a volume in use.

// The labels of volumes that are filled.
const (
	LabelResumed = events.ReservedLabel + "resumed" // why it was filled: Restore.Resumed
	LabelContent = events.ReservedLabel + "content" // the digest of what it was filled with
	LabelMark    = events.ReservedLabel + "mark"    // the name of the mark that exists until it is full
	LabelFills   = events.ReservedLabel + "fills"   // on a mark: the name of the volume
)

// Content opens what a snapshot kept of a volume. Reading fails if the content is not complete.
type Content func(ctx context.Context, e events.Export) (io.ReadCloser, error)

// Fill is a volume that must hold what a snapshot kept of it before a container of the instance first runs.
type Fill struct {
	Export  events.Export
	Resumed uint64
	// Volume is the engine's name of the volume, and Path is where the container mounts it.
	Volume string
	Path   string
}

// Fills returns the volumes of the planned container that must hold what a snapshot kept. It ignores volumes that the spec no longer
// has.
func (p Plan) Fills() []Fill {
	if p.Order.Restore == nil || p.Order.Spec == nil {
		return nil
	}
	var fills []Fill
	for _, v := range p.Order.Spec.Volumes {
		for _, e := range p.Order.Restore.Volumes {
			if v.Kind == events.VolumeNamed && v.Name == e.Volume {
				fills = append(fills, Fill{Export: e, Resumed: p.Order.Restore.Resumed, Volume: p.VolumeName(v.Name), Path: v.Path})
			}
		}
	}
	return fills
}

// Due reports whether the node must fill the volume. labels are the volume's, nil if it does not exist; marked reports whether the
// mark that they name exists. A full volume of the same content may hold more by now.
func (f Fill) Due(labels map[string]string, marked bool) bool {
	return marked || labels[LabelResumed] != strconv.FormatUint(f.Resumed, 10) || labels[LabelContent] != f.Export.Digest
}

// Labels returns the labels of a volume to fill, which has this mark until it is full.
func (f Fill) Labels(p Plan, mark string) map[string]string {
	labels := p.VolumeLabels()
	labels[LabelResumed] = strconv.FormatUint(f.Resumed, 10)
	labels[LabelContent] = f.Export.Digest
	labels[LabelMark] = mark
	return labels
}

// MarkLabels returns the labels of the mark of a volume.
func (o Owner) MarkLabels(volume string) map[string]string {
	return map[string]string{LabelCluster: o.Cluster, LabelNode: o.Node, LabelFills: volume}
}

// Unfilled is the failure of an instance whose volume cannot be filled.
func (p Plan) Unfilled(f Fill, why string) error {
	return &Failure{Reason: events.OfflineCreateFailed, Message: "volume " + f.Export.Volume + " cannot be filled from snapshot " +
		strconv.FormatUint(p.Order.Restore.Snapshot, 10) + ": " + why}
}
