// Package projections is pure.
package projections

import (
	"os" // want: depguard "operating system"
	"time"
)

// Uses breaks purity.
func Uses() []any {
	return []any{os.Args, time.Now()} // want: forbidigo "own no clock"
}
