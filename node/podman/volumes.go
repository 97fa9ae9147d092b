package podman

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

type namedVolume struct {
	Name    string   `json:"Name"`
	Dest    string   `json:"Dest"`
	Options []string `json:"Options,omitempty"`
}

type mount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options"`
}

// mounts are what is mounted into a container, as Podman takes it.
type mounts struct {
	Volumes []namedVolume `json:"volumes,omitempty"`
	// From are containers whose volumes are mounted too.
	From   []string `json:"volumes_from,omitempty"`
	Mounts []mount  `json:"mounts,omitempty"`
}

func mountsOf(plan node.Plan) (mounts, error) {
	var m mounts
	for _, v := range plan.Order.Spec.Volumes {
		access := "rw"
		if v.ReadOnly {
			access = "ro"
		}
		switch v.Kind {
		case events.VolumeHost:
			source, err := hostPath(plan.Allow, v.Source)
			if err != nil {
				return m, err
			}
			m.Mounts = append(m.Mounts, mount{v.Path, "bind", source, []string{"rbind", "rprivate", access}})
		case events.VolumeTmpfs:
			options := []string{"nosuid", "nodev", access}
			if v.Size > 0 {
				options = append(options, fmt.Sprintf("size=%d", uint64(v.Size)))
			}
			m.Mounts = append(m.Mounts, mount{v.Path, "tmpfs", "tmpfs", options})
		case events.VolumeNamed:
			m.Volumes = append(m.Volumes, namedVolume{plan.VolumeName(v.Name), v.Path, []string{access}})
		}
	}
	if plan.Topology != nil && plan.Role != node.RoleSidecar {
		m.Volumes = append(m.Volumes, namedVolume{Dest: plan.Order.Spec.Topology.Path, Options: []string{"ro"}})
	}
	if plan.Order.Scratch > 0 && plan.Role != node.RoleSidecar {
		m.Volumes = append(m.Volumes, namedVolume{Dest: plan.Order.Spec.ScratchPath()}) // without a name it goes with its container
	}
	return m, nil
}

// hostPath returns the path with its links resolved, if the node allows that. Otherwise a service that may write below an allowed path
// could create a link to anywhere.
func hostPath(allow node.Allowance, wanted string) (string, error) {
	refused := node.NotAllowed("the host path " + wanted + ": start the node with --allow-host-path and a folder that it is in")
	if !allow.HostPath(wanted) {
		return "", refused
	}
	path, err := filepath.EvalSymlinks(wanted)
	if err != nil {
		return "", createFailed("the host path " + wanted + " cannot be mounted: " + err.Error() + ": create it on this host")
	}
	for _, allowed := range allow.HostPaths {
		resolved, err := filepath.EvalSymlinks(allowed)
		if err == nil && (node.Allowance{HostPaths: []string{resolved}}).HostPath(path) {
			return path, nil
		}
	}
	return "", refused
}

// makeVolumes creates the slot's volumes that do not exist yet. Podman would create them by itself, but without the labels that tell an
// operator which slot they belong to.
func (e *Engine) makeVolumes(ctx context.Context, plan node.Plan, volumes []namedVolume) error {
	for _, v := range volumes {
		if v.Name == "" {
			continue // Podman creates an anonymous volume for the container alone
		}
		err := e.do(ctx, request{method: http.MethodPost, path: "/volumes/create", body: map[string]any{
			"Name": v.Name, "Label": plan.VolumeLabels(),
		}}, nil)
		refused := new(refusal)
		switch {
		case err == nil || errors.As(err, &refused) && refused.says("already exists"):
		case errors.As(err, &refused):
			return createFailed("volume " + v.Name + ": " + refused.Message)
		default:
			return fmt.Errorf("making volume %s: %w", v.Name, err)
		}
	}
	return nil
}
