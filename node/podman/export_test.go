package podman

// Blind makes the engine one that sees no process of the service, as in a container that has the socket mounted.
func (e *Engine) Blind() { e.visible = false }
