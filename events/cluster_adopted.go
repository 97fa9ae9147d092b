package events

// ClusterAdopted says which streams are the cluster's from here on, by their identities. The first one founds it.
type ClusterAdopted struct {
	// Streams holds the identity of each stream by its name.
	Streams map[string]string `json:"streams"`
	// Commands and Statuses are where the inboxes are read on from: the sequence of the last message that is done.
	Commands uint64 `json:"commands"`
	Statuses uint64 `json:"statuses"`
	// Accounts says that the NATS servers know each user, and hold it to subjects with its name. It is in clusters from LevelActors on.
	Accounts bool `json:"accounts,omitzero"`
	// Reason is a text that says why, except at the founding.
	Reason string `json:"reason,omitempty"`
}

// Kind implements Data.
func (ClusterAdopted) Kind() Kind { return v1("cluster", "adopted") }
