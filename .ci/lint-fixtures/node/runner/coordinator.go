package runner

import "github.com/rookery-project/rookery/coordinator" // want: depguard "meet only in events"

// Other keeps the import alive.
var Other = coordinator.Uses
