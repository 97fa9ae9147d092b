package events

import "strings"

// EngineFacts is what a node has probed of the engine that runs its containers.
type EngineFacts struct {
	// Engine is its name and version, as in podman 4.3.1.
	Engine string `json:"engine"`
	// Runtime is what it makes containers by, as in runc; missing for an engine that has none.
	Runtime string `json:"runtime,omitempty"`
	// Rootless says that it runs as another user than root.
	Rootless bool `json:"rootless,omitzero"`
	// Cgroups are the control groups of its host; missing where it cannot tell.
	Cgroups Cgroups `json:"cgroups,omitempty"`
	// Machine tells its host and storage from all others that may be a node of one name; missing where it cannot tell.
	Machine string `json:"machine,omitempty"`
}

// Cgroups are the control groups that a host has.
type Cgroups string

// The control groups of a host.
const (
	CgroupsV1     Cgroups = "v1"
	CgroupsHybrid Cgroups = "hybrid" // the controllers are those of v1, and v2 is mounted beside them without any
	CgroupsV2     Cgroups = "v2"
)

// maxEngineWord bounds what a node says of its engine, in bytes.
const maxEngineWord = 128

func (f EngineFacts) check() error {
	for _, said := range [...]struct{ field, word string }{{"engine", f.Engine}, {"runtime", f.Runtime}, {"cgroups", string(f.Cgroups)}} {
		if len(said.word) > maxEngineWord {
			return Reject(CodeOutOfRange, said.field, "%s has %d bytes, more than %d", said.field, len(said.word), maxEngineWord)
		}
	}
	return nil
}

// Words returns it as text, as in podman 4.3.1, runc, rootful, cgroups hybrid.
func (f EngineFacts) Words() string {
	words := []string{f.Engine}
	if f.Runtime != "" {
		words = append(words, f.Runtime, map[bool]string{true: "rootless", false: "rootful"}[f.Rootless])
	}
	if f.Cgroups != "" {
		words = append(words, "cgroups "+string(f.Cgroups))
	}
	return strings.Join(words, ", ")
}
