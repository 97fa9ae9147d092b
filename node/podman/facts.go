package podman

import (
	"context"
	"fmt"
	"net/http"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Info is what Podman says of itself, for people who look for a problem.
type Info struct {
	Version string // of Podman
	Runtime string // runc or crun
	Cgroups string // v1 or v2
	Store   string // the folder of its storage, on its host
}

type info struct {
	Host struct {
		CPUs     int    `json:"cpus"`
		MemTotal uint64 `json:"memTotal"`
		Cgroups  string `json:"cgroupVersion"`
		Runtime  struct {
			Name string `json:"name"`
		} `json:"ociRuntime"`
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
	return i, nil
}

// Info asks Podman what it is.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	i, err := e.info(ctx)
	return Info{
		Version: i.Version.Version, Runtime: i.Host.Runtime.Name, Cgroups: i.Host.Cgroups, Store: i.Store.Root,
	}, err
}

// Facts says which Podman this is and what its host has to give. The disk is the one that holds Podman's storage.
func (e *Engine) Facts(ctx context.Context) (node.Facts, error) {
	i, err := e.info(ctx)
	if err != nil {
		return node.Facts{}, err
	}
	return node.Facts{
		Engine: fmt.Sprintf("podman %s (%s)", i.Version.Version, i.Host.Runtime.Name),
		Capacity: events.Capacity{
			CPU: float64(i.Host.CPUs), Memory: i.Host.MemTotal, Disk: i.Store.Allocated,
		},
	}, nil
}
