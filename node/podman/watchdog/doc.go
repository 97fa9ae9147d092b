// Package watchdog is a process beside a node that ends containers which must not outlive the node's connection: those of
// exclusive slots. It holds what it guards by pidfd and goes by the kernel's clock alone, so that it needs neither the
// node's process, which may be killed or stopped, nor Podman's service, which may hang, nor any network.
//
//	node                                 watchdog
//	  Guard{heard, containers} ────────►   for each: heard + window passed? SIGKILL
//	  ◄──────────────────────── Guarding
//
// It never knows what a container is for, nor whether somebody else runs the same slot: a container that is guarded ends when
// its window has passed since the node was last heard, and nothing but a later time of hearing prolongs that. What is guarded
// once is guarded until it has ended: a node that begins anew need not know of it.
package watchdog
