package main

import (
	"os"
	"testing"
	"time"
)

// TestMain has times be printed as they are in the pictures. It is said before anything runs that might look at a clock.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}
