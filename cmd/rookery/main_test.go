package main

import (
	"os"
	"syscall"
	"testing"
)

// TestMain prints times in UTC, as in the golden screens. It starts this program again with the variable set, because another package
// reads the time zone before TestMain, and a write to time.Local would race with such a read.
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
