package events

// Restore is what the volumes of an instance are to hold before it first runs.
type Restore struct {
	// Resumed is the sequence of the event that brought the service back: volumes that were filled because of it are not filled
	// again.
	Resumed uint64 `json:"resumed"`
	// Snapshot is the version of the snapshot that they are filled from, and Volumes are what they held then.
	Snapshot uint64   `json:"snapshot"`
	Volumes  []Export `json:"volumes"`
}
