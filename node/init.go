package node

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// An init container stands under the name of the main one, so that an engine never has both: it is prepared, started and
// seen to end like that, and its removal makes room for the main one. What it has done is known from its exit code as
// long as it stands, whichever process looks. Only where the node's process ends after the removal and before the main
// container is made, it runs again.

// NextRole is what a container to be made is.
func (v View) NextRole() Role {
	if v.Order.Spec != nil && v.Order.Spec.Init != nil && !v.Initialized {
		return RoleInit
	}
	return RoleMain
}

// initDone reports whether the container is an init container that has ended well.
func (v View) initDone() bool {
	return v.Container != nil && v.Container.Role == RoleInit && v.Container.State == Exited && v.Container.ExitCode == 0
}

// initFailed reports whether the container is an init container that has ended with an error.
func (v View) initFailed() bool {
	return v.Container != nil && v.Container.Role == RoleInit && v.Container.State == Exited && v.Container.ExitCode != 0
}

func (v View) initEnded() View {
	code, message := v.Container.ExitCode, "the init container has failed"
	if v.Container.OOMKilled {
		message = "the kernel killed the init container for want of memory"
	}
	return v.offline(events.OfflineInitFailed, &code, message)
}

// foundInit follows a look that found an init container. It is told as prepared where it turns up: the leader must
// hear of it to have it stopped where nobody wants it.
func (v View) foundInit(before *Container, now time.Time) View {
	if before == nil {
		v = v.turnedUp(events.PhasePrepared)
	}
	v = v.reached()
	if v.Order.Action != events.ActionRun || v.Phase == events.PhaseOffline || !v.initFailed() {
		return v
	}
	return v.initEnded().fail(now)
}
