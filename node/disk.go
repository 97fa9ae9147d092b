package node

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Usage is what an instance takes of its node's disk.
type Usage struct {
	// Own is what its containers have written to their own files. Scratch is what its scratch disk holds.
	Own     events.Size
	Scratch events.Size
}

// DiskLimits returns how much of the disk the instance may take; zero for any amount. Storage drivers enforce such limits on few file
// systems, so the node measures the usage and stops an instance that exceeds its limit.
func (v View) DiskLimits() Usage {
	if v.Order.Action != events.ActionRun || v.Order.Spec == nil {
		return Usage{}
	}
	return Usage{Own: v.Order.Spec.Resources.Disk, Scratch: v.Order.Scratch}
}

// Measurable reports whether the container runs and has a disk limit.
func (v View) Measurable() bool {
	return v.DiskLimits() != Usage{} && v.Container != nil && v.Container.State == Running && v.Container.Role == RoleMain &&
		v.Phase != events.PhaseOffline
}

// Measured returns the view after the node measured the disk of c, which may have ended or been replaced since. The node stops a
// container that exceeds its limit at once, because it may keep writing.
func (v View) Measured(c Container, u Usage, now time.Time) View {
	if !v.Measurable() || v.Container.Handle != c.Handle {
		return v
	}
	limits, message := v.DiskLimits(), ""
	switch {
	case limits.Own > 0 && u.Own > limits.Own:
		message = tooMuch("its own files", u.Own, "resources.disk", limits.Own)
	case limits.Scratch > 0 && u.Scratch > limits.Scratch:
		message = tooMuch("its scratch disk", u.Scratch, "its size", limits.Scratch)
	default:
		return v
	}
	return v.offline(events.OfflineOverDisk, nil, message).endedHere(now)
}

// endedHere counts the failure of an instance that still runs. The node stops and removes it at once and waits for the back-off after
// that. If the container stayed, a restarted process of the node would learn from it how it ended, but not why.
func (v View) endedHere(now time.Time) View {
	v = v.fail(now)
	v.RetryAt = time.Time{}
	return v
}

func tooMuch(what string, takes events.Size, name string, limit events.Size) string {
	return fmt.Sprintf("the node has measured that %s takes %s, more than %s, %s", what, takes, name, limit)
}
