package node

import (
	"context"
	"io"
	"strconv"

	"github.com/rookery-project/rookery/events"
)

// A volume that is filled says itself what it was filled for, in labels that nobody changes. Beside it stands a mark as long as it is
// not full: that goes last, and with it the volume holds all. So whatever ends in the middle, the volume is filled anew, and one that
// was full is not, how often a container has written into it. Whoever removes unused volumes takes the mark of none that is in use.

// The labels of volumes that are filled.
const (
	LabelResumed = events.ReservedLabel + "resumed" // why it was filled: Restore.Resumed
	LabelContent = events.ReservedLabel + "content" // what with: the digest
	LabelMark    = events.ReservedLabel + "mark"    // the name of the mark that stands as long as it is not full
	LabelFills   = events.ReservedLabel + "fills"   // of a mark: the name of the volume
)

// Content opens what a volume held. Reading it fails where it is not all of that.
type Content func(ctx context.Context, e events.Export) (io.ReadCloser, error)

// Fill is a volume that must hold what a snapshot kept of it before a container of the instance first runs.
type Fill struct {
	Export  events.Export
	Resumed uint64
	// Volume is the engine's name of it, and Path where the container has it.
	Volume string
	Path   string
}

// Fills returns the volumes of the planned container that must hold what was kept. What the spec does not have any more is nobody's.
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

// Due reports whether the volume is to be filled: by its labels, nil where there is none, and by whether the mark that they name
// stands. Of the same content it may have more since.
func (f Fill) Due(labels map[string]string, marked bool) bool {
	return marked || labels[LabelResumed] != strconv.FormatUint(f.Resumed, 10) || labels[LabelContent] != f.Export.Digest
}

// Labels returns the labels of the volume that is to be filled, as long as the mark stands.
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
