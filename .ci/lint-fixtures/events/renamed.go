package events

import clock "time"

// Renamed reads the clock under another name.
func Renamed() any {
	return clock.Now() // want: forbidigo "own no clock"
}
