package podman

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/events"
)

const (
	// openFiles and processes are per container; both are far below the limits of a stock host.
	openFiles    = 4096
	processes    = 4096
	lockedMemory = 64 << 10
)

// resourceOf has the kernel's number of each limit that can be set.
var resourceOf = map[events.UlimitName]int{
	events.UlimitAS: unix.RLIMIT_AS, events.UlimitCore: unix.RLIMIT_CORE, events.UlimitCPU: unix.RLIMIT_CPU,
	events.UlimitData: unix.RLIMIT_DATA, events.UlimitFSize: unix.RLIMIT_FSIZE, events.UlimitLocks: unix.RLIMIT_LOCKS,
	events.UlimitMemlock: unix.RLIMIT_MEMLOCK, events.UlimitMsgQueue: unix.RLIMIT_MSGQUEUE,
	events.UlimitNoFile: unix.RLIMIT_NOFILE, events.UlimitNProc: unix.RLIMIT_NPROC, events.UlimitRSS: unix.RLIMIT_RSS,
	events.UlimitSigPending: unix.RLIMIT_SIGPENDING, events.UlimitStack: unix.RLIMIT_STACK,
}

// ulimits returns the limits of every container. They are written out, and stay below our own hard ones, because
// Podman's defaults fail where the service may not raise its limits. Soft equals hard: nothing inside may change it.
func ulimits() []rlimit {
	return []rlimit{
		capped(events.UlimitNoFile, openFiles), capped(events.UlimitNProc, processes), capped(events.UlimitCore, 0),
		capped(events.UlimitMemlock, lockedMemory),
	}
}

func capped(name events.UlimitName, value uint64) rlimit {
	var own syscall.Rlimit
	if err := syscall.Getrlimit(resourceOf[name], &own); err == nil {
		value = min(value, own.Max)
	}
	return rlimit{Type: string(name), Hard: value, Soft: value}
}

// limited returns the limits with those of a spec in place of ours.
func limited(ours []rlimit, wanted []events.Ulimit) []rlimit {
	limits := slices.Clone(ours)
	for _, w := range wanted {
		limit := capped(w.Name, *w.Value)
		if i := slices.IndexFunc(limits, func(l rlimit) bool { return l.Type == limit.Type }); i >= 0 {
			limits[i] = limit
		} else {
			limits = append(limits, limit)
		}
	}
	return limits
}
