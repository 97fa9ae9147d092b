package node

import "time"

// steadyAfter is how long an instance must have served for its failures to be forgotten.
const steadyAfter = 5 * time.Minute

// backoff returns the delay after this many failures in a row, which is at least 1: the first, and twice as long for
// each further one, at most the longest.
func backoff(failures uint32, first, longest time.Duration) time.Duration {
	delay := first
	for range failures - 1 {
		if delay >= longest {
			break
		}
		delay *= 2
	}
	return min(delay, longest)
}
