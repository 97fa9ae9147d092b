package node

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Usage is what an instance takes of its node's disk.
type Usage struct {
	// Own is what its containers have written to their own files, Scratch what stands in its scratch disk.
	Own     events.Size
	Scratch events.Size
}

// DiskLimits returns the most that the instance may take of the disk; zero where it may take any amount. Drivers of
// storage enforce that on few file systems, so the node measures what is taken, and ends what takes more.
func (v View) DiskLimits() Usage {
	if v.Order.Action != events.ActionRun || v.Order.Spec == nil {
		return Usage{}
	}
	return Usage{Own: v.Order.Spec.Resources.Disk, Scratch: v.Order.Scratch}
}

// Measurable reports whether the container runs and is to keep to a limit of disk.
func (v View) Measurable() bool {
	return v.DiskLimits() != Usage{} && v.Container != nil && v.Container.State == Running && v.Container.Role == RoleMain &&
		v.Phase != events.PhaseOffline
}

// Measured returns the view after the container's disk was measured, which may have ended or been replaced meanwhile. One
// that takes too much is stopped at once: every moment it may take more.
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

// endedHere counts the failure of an instance that runs still: it is stopped and removed at once, and rests after that. A container that
// stood meanwhile would tell a process of the node that starts by then how it ended, and not why.
func (v View) endedHere(now time.Time) View {
	v = v.fail(now)
	v.RetryAt = time.Time{}
	return v
}

func tooMuch(what string, takes events.Size, name string, limit events.Size) string {
	return fmt.Sprintf("the node has measured that %s takes %s, more than %s, %s", what, takes, name, limit)
}
