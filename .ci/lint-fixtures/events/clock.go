package events

import "time"

// Clock reads the clock in every forbidden way, once.
func Clock(at time.Time) {
	_ = time.Now()                   // want: forbidigo "own no clock"
	_ = time.Since(at)               // want: forbidigo "own no clock"
	_ = time.Until(at)               // want: forbidigo "own no clock"
	_ = time.After(0)                // want: forbidigo "own no clock"
	_ = time.AfterFunc(0, func() {}) // want: forbidigo "own no clock"
	_ = time.NewTimer(0)             // want: forbidigo "own no clock"
	_ = time.NewTicker(1)            // want: forbidigo "own no clock"
	_ = time.Tick(1)                 // want: forbidigo "own no clock"
	time.Sleep(0)                    // want: forbidigo "own no clock"
	now := time.Now                  // want: forbidigo "own no clock"
	_ = now
}

// Later compares times without reading a clock, which is allowed although the
// method has the name of a forbidden function.
func Later(a, b time.Time) bool {
	return a.After(b)
}
