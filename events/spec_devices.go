package events

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// MaxDevices is the greatest number of a service's devices.
const MaxDevices = 32

// DeviceSpec says what devices of its host an instance has.
type DeviceSpec struct {
	// Devices are given to the instance's containers. A node refuses those that it is not told to allow.
	Devices []Device `json:"devices,omitempty"`
}

// Device is a device of the node's host.
type Device struct {
	// Path is the device's on the host, below /dev.
	Path string `json:"path" jsonschema:"pattern=^/[^:\\x2c]*$,minLength=1"`
	// Target is its path in the container. Default: the same path as on the host.
	Target string `json:"target,omitempty"`
	// Access is what the container may do with it: r (read), w (write) and m (make a file of it), as in rw. Default: rw.
	Access string `json:"access,omitempty"`
}

// DefaultAccess is what may be done with a device.
const DefaultAccess = "rw"

// canonical cleans the paths and writes the defaults out.
func (s DeviceSpec) canonical() DeviceSpec {
	s.Devices = append([]Device(nil), s.Devices...)
	for i := range s.Devices {
		d := &s.Devices[i]
		d.Path = path.Clean(d.Path)
		if d.Target == "" {
			d.Target = d.Path
		}
		d.Target = path.Clean(d.Target)
		if d.Access == "" {
			d.Access = DefaultAccess
		}
	}
	return s
}

func (s DeviceSpec) check() error {
	if len(s.Devices) > MaxDevices {
		return Reject(CodeOutOfRange, "devices", "devices has %d entries, more than %d", len(s.Devices), MaxDevices)
	}
	clean := s.canonical().Devices
	for i, d := range clean {
		field := fmt.Sprintf("devices[%d]", i)
		for _, p := range []struct{ field, path string }{{field + ".path", d.Path}, {field + ".target", d.Target}} {
			if err := checkMountPath(p.field, p.path); err != nil {
				return err
			}
			if !strings.HasPrefix(p.path, "/dev/") {
				return Reject(CodeInvalidValue, p.field, "%s %s is not below /dev: devices are there", p.field, quote(p.path))
			}
		}
		if strings.Trim(d.Access, "rwm") != "" || len(d.Access) > len("rwm") {
			return Reject(CodeInvalidValue, field+".access", "%s.access %s has other letters than r, w and m: write it as rw", field, quote(d.Access))
		}
		if j := slices.IndexFunc(clean[:i], func(o Device) bool { return o.Target == d.Target }); j >= 0 {
			return Reject(CodeInvalidValue, field+".target", "%s and devices[%d] have one path in the container, %s", field, j, quote(d.Target))
		}
	}
	return nil
}
