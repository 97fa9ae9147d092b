package podman

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Info is what Podman reports about itself, for an operator who looks for a problem.
type Info struct {
	Version  string // of Podman
	Runtime  string // runc or crun
	Rootless bool
	Cgroups  events.Cgroups
	Store    string // the folder of its storage, on its host
}

type info struct {
	Host struct {
		CPUs     int    `json:"cpus"`
		MemTotal uint64 `json:"memTotal"`
		Cgroups  string `json:"cgroupVersion"`
		Runtime  struct {
			Name string `json:"name"`
		} `json:"ociRuntime"`
		Security struct {
			Rootless bool `json:"rootless"`
		} `json:"security"`
	} `json:"host"`
	Store struct {
		Root      string `json:"graphRoot"`
		Allocated uint64 `json:"graphRootAllocated"`
	} `json:"store"`
	Version struct {
		Version string `json:"Version"`
	} `json:"version"`
}

func (e *Engine) info(ctx context.Context) (info, error) {
	var i info
	if err := e.do(ctx, request{method: http.MethodGet, path: "/info"}, &i); err != nil {
		return i, fmt.Errorf("asking Podman what it is: %w", err)
	}
	e.known.Store(&i)
	return i, nil
}

// Info asks Podman about itself.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	i, err := e.info(ctx)
	return Info{
		Version: i.Version.Version, Runtime: i.Host.Runtime.Name, Rootless: i.Host.Security.Rootless, Cgroups: e.cgroups(i), Store: i.Store.Root,
	}, err
}

// Facts returns the version of Podman and the capacity of its host. The disk is the one that holds Podman's storage.
func (e *Engine) Facts(ctx context.Context) (node.Facts, error) {
	i, err := e.info(ctx)
	if err != nil {
		return node.Facts{}, err
	}
	return node.Facts{
		Engine: events.EngineFacts{
			Engine: "podman " + i.Version.Version, Runtime: i.Host.Runtime.Name, Rootless: i.Host.Security.Rootless, Cgroups: e.cgroups(i),
			Machine: machine(i.Store.Root),
		},
		Capacity: events.Capacity{
			CPU: float64(i.Host.CPUs), Memory: i.Host.MemTotal, Disk: i.Store.Allocated,
		},
	}, nil
}

// cgroups returns the version of the control groups of Podman's host. Podman reports a hybrid host as v1. The mounts tell them apart, if
// the node and Podman share them.
func (e *Engine) cgroups(i info) events.Cgroups {
	if i.Host.Cgroups != string(events.CgroupsV1) || !e.visible {
		return events.Cgroups(i.Host.Cgroups)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return events.CgroupsV1
	}
	return cgroupsOf(mounts)
}

// cgroupsOf returns the version of a host's control groups from its mounts.
func cgroupsOf(mounts []byte) events.Cgroups {
	var v1, v2 bool
	for line := range bytes.Lines(mounts) {
		// The type of the file system is the first word behind " - ".
		_, kind, _ := bytes.Cut(line, []byte(" - "))
		v1 = v1 || bytes.HasPrefix(kind, []byte("cgroup "))
		v2 = v2 || bytes.HasPrefix(kind, []byte("cgroup2 "))
	}
	switch {
	case v1 && v2:
		return events.CgroupsHybrid
	case v2:
		return events.CgroupsV2
	}
	return events.CgroupsV1
}

// limitable refuses a spec with limits if Podman would ignore them. That is so if Podman is rootless and cgroups are not v2: then Podman
// only prints a warning, which the operator does not see.
func (e *Engine) limitable(ctx context.Context, r events.Resources) error {
	if r.Memory == 0 && r.CPU == 0 {
		return nil
	}
	known := e.known.Load()
	if known == nil {
		i, err := e.info(ctx)
		if err != nil {
			return err
		}
		known = &i
	}
	if !known.unlimited() {
		return nil
	}
	return &node.Failure{Reason: events.OfflineNotAllowed, Message: "this node cannot limit CPU and memory: its Podman is rootless and its host has cgroups " +
		known.Host.Cgroups + ", where Podman ignores limits: run Podman as root, boot the host with cgroups v2, or place the service elsewhere"}
}

// unlimited reports whether Podman ignores limits.
func (i info) unlimited() bool {
	return i.Host.Security.Rootless && i.Host.Cgroups == string(events.CgroupsV1)
}
