package events

import (
	"fmt"
	"slices"
)

// MaxSidecars is the greatest number of an instance's sidecars.
const MaxSidecars = 8

// SidecarSpec says what runs beside an instance.
type SidecarSpec struct {
	// Sidecars run beside the instance's own container, in its network: they reach each other on the loopback. They
	// start after it and stop after it. The end of one ends the attempt, as that of the instance's own does.
	Sidecars []Sidecar `json:"sidecars,omitempty"`
}

// Sidecar is one container beside an instance. It has the volumes and limits of the instance, and the user of its image.
type Sidecar struct {
	Name string `json:"name" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=63"`
	// Image is the container image.
	Image string `json:"image" jsonschema:"minLength=1"`
	// Command replaces the image's entry point.
	Command []string `json:"command,omitempty"`
	// Args replace the image's command.
	Args []string `json:"args,omitempty"`
	// Env adds environment variables to those of the service.
	Env map[string]string `json:"env,omitempty"`
}

func (s SidecarSpec) canonical() SidecarSpec {
	s.Sidecars = append([]Sidecar(nil), s.Sidecars...)
	for i := range s.Sidecars {
		c := &s.Sidecars[i]
		c.Command, c.Args = orNil(c.Command), orNil(c.Args)
	}
	return s
}

func (s SidecarSpec) check() error {
	if len(s.Sidecars) > MaxSidecars {
		return Reject(CodeOutOfRange, "sidecars", "sidecars has %d entries, more than %d", len(s.Sidecars), MaxSidecars)
	}
	for i, c := range s.Sidecars {
		field := fmt.Sprintf("sidecars[%d]", i)
		if err := checkName(field+".name", c.Name); err != nil {
			return err
		}
		if j := slices.IndexFunc(s.Sidecars[:i], func(o Sidecar) bool { return o.Name == c.Name }); j >= 0 {
			return Reject(CodeInvalidValue, field+".name", "%s and sidecars[%d] have one name, %q", field, j, c.Name)
		}
		if c.Image == "" {
			return Reject(CodeMissingField, field+".image", "%s.image is missing: name a container image, as in localhost/proxy:1", field)
		}
		if err := inField(field, checkProgram(c.Image, c.Command, c.Args, c.Env)); err != nil {
			return err
		}
	}
	return nil
}
