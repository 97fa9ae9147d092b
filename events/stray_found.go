package events

// StrayFound says that a node has an instance of ours that it should not have. It is told to stop it.
type StrayFound struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
}

// Kind implements Data.
func (StrayFound) Kind() Kind { return v1("stray", "found") }

// ID returns the instance that the stray says it is.
func (s StrayFound) ID() InstanceID {
	return InstanceID{Service: ServiceID{Namespace: s.Namespace, Name: s.Name}, Ordinal: s.Ordinal, Generation: s.Generation}
}
