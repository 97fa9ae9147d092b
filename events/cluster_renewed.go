package events

// ClusterRenewed says that ROOKERY_STATUS is another stream from here on. The server keeps it in memory alone, so it
// goes with every restart; what it said is in the log, and nodes say the rest again.
type ClusterRenewed struct {
	// Identity is that of the new stream.
	Identity string `json:"identity"`
}

// Kind implements Data.
func (ClusterRenewed) Kind() Kind { return v1("cluster", "renewed") }
