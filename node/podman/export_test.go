package podman

// Blind makes the engine one that sees no process of the service, as in a container that has the socket mounted.
func (e *Engine) Blind() { e.visible = false }

// Reference is what the name stands for, of an image of this digest that has these names with digests.
func Reference(name, digest string, repoDigests ...string) string {
	return image{Digest: digest, RepoDigests: repoDigests}.reference(name)
}

// LastParts reads a log to its end, and returns the end.
var LastParts = lastParts
