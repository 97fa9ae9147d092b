package main

import (
	"os"
	"syscall"
	"testing"
)

// TestMain prints times in UTC, as the pictures have them. It starts this program again with the variable set: something has read the
// time zone before TestMain is called, and a write to time.Local races with whoever reads it.
func TestMain(m *testing.M) {
	const zone = "TZ"
	if os.Getenv(zone) == "UTC" {
		os.Exit(m.Run())
	}
	if err := os.Setenv(zone, "UTC"); err != nil {
		panic(err)
	}
	panic(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}
