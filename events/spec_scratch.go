package events

import (
	"fmt"
	"path"
)

// Defaults of scratch disk: its size is Materialize's.
const (
	DefaultScratch     Size = 1 << 30
	DefaultScratchPath      = "/scratch"
)

// ScratchSpec says what disk an instance has to work on.
type ScratchSpec struct {
	// Scratch is a folder of the node's disk that begins empty and is gone with the container: at each restart. Sidecars share it. Default:
	// no folder, unless the cluster's policy is always_use_disk.
	Scratch *Scratch `json:"scratch,omitempty"`
}

// Scratch is a folder to work in.
type Scratch struct {
	// Path is where it is mounted in the container. Default: /scratch.
	Path string `json:"path,omitempty" jsonschema:"pattern=^(/[^:\\x2c]*)?$"`
	// Size is the most that it takes, and set aside on the node. Default: 1GiB. With 0B there is no folder, whatever the policy says. The
	// node measures what it takes, and ends an instance that takes more.
	Size *Size `json:"size,omitzero"`
}

// withDefaults writes out the defaults.
func (s Scratch) withDefaults() Scratch {
	if s.Path == "" {
		s.Path = DefaultScratchPath
	}
	s.Path = path.Clean(s.Path)
	if s.Size == nil {
		size := DefaultScratch
		s.Size = &size
	}
	return s
}

// ScratchPath returns where scratch disk is mounted, if there is any.
func (s ScratchSpec) ScratchPath() string {
	if s.Scratch == nil {
		return DefaultScratchPath
	}
	return s.Scratch.withDefaults().Path
}

// ScratchSize returns how much scratch disk an instance has: what the spec says, else what the policy has every instance
// have.
func (s ScratchSpec) ScratchSize(p *Policy) Size {
	switch {
	case s.Scratch != nil:
		return *s.Scratch.withDefaults().Size
	case p.AlwaysUseDisk:
		return DefaultScratch
	}
	return 0
}

func (s ScratchSpec) canonical() ScratchSpec {
	if s.Scratch == nil {
		return s
	}
	c := s.Scratch.withDefaults()
	return ScratchSpec{&c}
}

func (s ScratchSpec) check(volumes []Volume) error {
	if s.Scratch == nil {
		return nil
	}
	where := s.ScratchPath()
	if err := checkMountPath("scratch.path", where); err != nil {
		return err
	}
	if where == "/" {
		return Reject(CodeInvalidValue, "scratch.path", "scratch.path is the container's root: mount below it")
	}
	for i, v := range volumes {
		if path.Clean(v.Path) == where {
			return Reject(CodeInvalidValue, "scratch.path", "scratch and %s are mounted at one path, %s", fmt.Sprintf("volumes[%d]", i), quote(where))
		}
	}
	return nil
}
