package node

import "time"

// Back-off of an instance that fails: firstDelay after the first failure in a row, twice as long after each further
// one, at most longestDelay.
const (
	firstDelay   = time.Second
	longestDelay = time.Minute
	// steadyAfter is how long an instance must have served for its failures to be forgotten.
	steadyAfter = 5 * time.Minute
)

// backoff returns the delay after this many failures in a row, which is at least 1.
func backoff(failures uint32) time.Duration {
	const doublings = 6 // beyond these the delay is past the longest
	if failures > doublings {
		return longestDelay
	}
	return min(firstDelay<<(failures-1), longestDelay)
}
