package node

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// An init container has the name of the main container, so that an engine never has both. The node prepares and starts it like a main
// container, and removes it before it creates the main one. As long as the init container exists, any process of the node can read its
// exit code. It runs again only if the node's process ends after the removal and before the main container is created.

// NextRole is the role of the next container to create.
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
	code, message := v.Container.ExitCode, "the init container failed"
	if v.Container.OOMKilled {
		message = "the kernel killed the init container because it ran out of memory"
	}
	return v.offline(events.OfflineInitFailed, &code, message)
}

// foundInit returns the view after the engine listed an init container. The node reports a newly found one as prepared, because the
// leader must know of it to stop it if no order wants it.
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
