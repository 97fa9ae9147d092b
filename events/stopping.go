package events

// Stopping is what an instance is asked before it is stopped. No operation belongs to it.
type Stopping struct {
	// Phase is BeforeStop.
	Phase string `json:"phase"`
}

// BeforeStop is the phase of an instance that is about to be stopped.
const BeforeStop = "before_stop"

// Variables are what a hook's command finds in its environment.
func (s Stopping) Variables() []string { return []string{"ROOKERY_PHASE=" + s.Phase} }
