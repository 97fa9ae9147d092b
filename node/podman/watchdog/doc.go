// Package watchdog is a process beside a node that kills the containers of exclusive slots, which must not outlive the node's connection.
// It holds the containers' processes by pidfd and uses only the kernel's clock. So it needs no network, and neither the node's process,
// which may be killed or stopped, nor Podman's service, which may hang.
//
//	node                                 watchdog
//	  Guard{heard, containers} ────────►   for each: heard + window passed? SIGKILL
//	  ◄──────────────────────── Guarding
//
// The watchdog knows neither what a container is for nor whether another node runs the same slot. It kills a guarded container once its
// window has passed since the node's last answered heartbeat. Only a later heartbeat extends that. A container stays guarded until it
// has ended, so a restarted node need not know of it.
package watchdog
