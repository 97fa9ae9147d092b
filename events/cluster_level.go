package events

// ClusterFinishUpgrade is the command to raise the cluster to the highest level at which its coordinators work. From then on no older program can
// take part. The coordinator rejects it while one does.
type ClusterFinishUpgrade struct{}

// Kind implements Data.
func (ClusterFinishUpgrade) Kind() Kind { return v1("cluster", "finish-upgrade") }

func (ClusterFinishUpgrade) check() error      { return nil }
func (c ClusterFinishUpgrade) normal() Command { return c }

// ClusterLevel says that the cluster has reached this level: from here on, messages have what came with it.
type ClusterLevel struct {
	Level Level `json:"level"`
}

// Kind implements Data.
func (ClusterLevel) Kind() Kind { return v1("cluster", "level") }
