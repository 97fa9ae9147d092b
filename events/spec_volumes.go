package events

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// MaxVolumes is the greatest number of a service's volumes.
const MaxVolumes = 64

// VolumeSpec says what is mounted into an instance.
type VolumeSpec struct {
	// Volumes are mounted into every instance.
	Volumes []Volume `json:"volumes,omitempty"`
}

// Volume is something that is mounted.
type Volume struct {
	// Name tells the service's volumes apart. A named volume goes by it: one of another name is another one.
	Name string `json:"name" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=63"`
	// Path is where it is mounted in the container.
	Path string `json:"path" jsonschema:"pattern=^/[^:\\x2c]*$,minLength=1"`
	// Kind is volume (Podman keeps it for the slot, which stays on its node through all its generations), host (a path of the node's host,
	// which must allow it) or tmpfs (in memory, gone with the container). Default: volume.
	Kind VolumeKind `json:"kind,omitempty"`
	// Source is the path on the host, for host alone.
	Source string `json:"source,omitempty"`
	// State has snapshots of the service keep what the volume holds, for kind volume alone.
	State bool `json:"state,omitzero"`
	// ReadOnly mounts it read-only.
	ReadOnly bool `json:"read_only,omitzero"`
	// Size is the most that a tmpfs takes, which counts as the instance's memory. Default: half of the host's memory.
	Size Size `json:"size,omitzero"`
}

// VolumeKind is what is mounted.
type VolumeKind string

// The kinds of volumes.
const (
	VolumeNamed VolumeKind = "volume"
	VolumeHost  VolumeKind = "host"
	VolumeTmpfs VolumeKind = "tmpfs"
)

// KeepsVolumes reports whether instances leave something behind on their node that the slot's next one needs.
func (s VolumeSpec) KeepsVolumes() bool {
	return slices.ContainsFunc(s.Volumes, func(v Volume) bool { return v.Kind == VolumeNamed })
}

// canonical writes out the kind and cleans the paths.
func (s VolumeSpec) canonical() VolumeSpec {
	s.Volumes = append([]Volume(nil), s.Volumes...)
	for i := range s.Volumes {
		v := &s.Volumes[i]
		if v.Kind == "" {
			v.Kind = VolumeNamed
		}
		v.Path = path.Clean(v.Path)
		if v.Source != "" {
			v.Source = path.Clean(v.Source)
		}
	}
	return s
}

func (s VolumeSpec) check() error {
	if len(s.Volumes) > MaxVolumes {
		return Reject(CodeOutOfRange, "volumes", "volumes has %d entries, more than %d", len(s.Volumes), MaxVolumes)
	}
	for i, v := range s.Volumes {
		field := fmt.Sprintf("volumes[%d]", i)
		if err := v.check(field); err != nil {
			return err
		}
		for j, other := range s.Volumes[:i] {
			if other.Name == v.Name {
				return Reject(CodeInvalidValue, field+".name", "%s and volumes[%d] have one name, %q", field, j, v.Name)
			}
			if path.Clean(other.Path) == path.Clean(v.Path) {
				return Reject(CodeInvalidValue, field+".path", "%s and volumes[%d] are mounted at one path, %s", field, j, quote(v.Path))
			}
		}
	}
	return nil
}

func (v Volume) check(field string) error {
	if err := checkName(field+".name", v.Name); err != nil {
		return err
	}
	if err := checkMountPath(field+".path", v.Path); err != nil {
		return err
	}
	if path.Clean(v.Path) == "/" {
		return Reject(CodeInvalidValue, field+".path", "%s.path is the container's root: mount below it", field)
	}
	kinds := []VolumeKind{VolumeNamed, VolumeHost, VolumeTmpfs}
	if v.Kind != "" && !slices.Contains(kinds, v.Kind) {
		return Reject(CodeInvalidValue, field+".kind", "%s.kind %s is not known: known are %s", field, quote(string(v.Kind)), listed(kinds))
	}
	switch {
	case v.Kind != VolumeHost && v.Source != "":
		return Reject(CodeInvalidValue, field+".source", "%s.source is only for kind host: leave it out, or set kind to host", field)
	case v.Kind != VolumeTmpfs && v.Size != 0:
		return Reject(CodeInvalidValue, field+".size", "%s.size is only for kind tmpfs: leave it out, or set kind to tmpfs", field)
	case v.State && v.Kind != "" && v.Kind != VolumeNamed:
		return Reject(CodeInvalidValue, field+".state", "%s.state is only for kind volume: other services may share the data of kind %s, or it is gone with "+
			"its containers", field, v.Kind)
	case v.Kind == VolumeHost && v.Source == "":
		return Reject(CodeMissingField, field+".source", "%s.source is missing: name the path on the host", field)
	case v.Kind == VolumeHost:
		return checkMountPath(field+".source", v.Source)
	}
	return nil
}

// checkMountPath refuses a path that is not absolute. A colon or a comma would end it in the words of mount options.
func checkMountPath(field, p string) error {
	if err := checkText(field, p); err != nil {
		return err
	}
	if !path.IsAbs(p) || strings.ContainsAny(p, ":,\n\r\x1b") {
		return Reject(CodeInvalidValue, field, "%s %s is not an absolute path without \":\" and \",\": begin it with \"/\"", field, quote(p))
	}
	return nil
}
