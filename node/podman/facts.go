package podman

import (
	"context"
	"fmt"
	"net/http"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Facts says which Podman this is and what its host has to give. The disk is the one that holds Podman's storage.
func (e *Engine) Facts(ctx context.Context) (node.Facts, error) {
	var info struct {
		Host struct {
			CPUs     int    `json:"cpus"`
			MemTotal uint64 `json:"memTotal"`
			Runtime  struct {
				Name string `json:"name"`
			} `json:"ociRuntime"`
		} `json:"host"`
		Store struct {
			Allocated uint64 `json:"graphRootAllocated"`
		} `json:"store"`
		Version struct {
			Version string `json:"Version"`
		} `json:"version"`
	}
	if err := e.do(ctx, request{method: http.MethodGet, path: "/info"}, &info); err != nil {
		return node.Facts{}, fmt.Errorf("asking Podman what it is: %w", err)
	}
	return node.Facts{
		Engine: fmt.Sprintf("podman %s (%s)", info.Version.Version, info.Host.Runtime.Name),
		Capacity: events.Capacity{
			CPU: float64(info.Host.CPUs), Memory: info.Host.MemTotal, Disk: info.Store.Allocated,
		},
	}, nil
}
