package events

import (
	"math"
	"strconv"
	"strings"
)

// CPU is an amount of processor time in thousandths of a core, written in cores or thousandths: "0.5", "500m", "2".
type CPU uint32

// Core is one whole core, and MaxCPU the most that a message takes.
const (
	Core   CPU = 1000
	MaxCPU     = 10_000 * Core
)

// AppendText writes whole cores as "2" and all else in thousandths, as in "500m".
func (c CPU) AppendText(text []byte) ([]byte, error) {
	if c%Core == 0 {
		return strconv.AppendUint(text, uint64(c/Core), 10), nil
	}
	return append(strconv.AppendUint(text, uint64(c), 10), 'm'), nil
}

// MarshalText is AppendText to nothing.
func (c CPU) MarshalText() ([]byte, error) { return c.AppendText(nil) }

// String returns the amount as AppendText writes it.
func (c CPU) String() string {
	text, _ := c.AppendText(nil)
	return string(text)
}

// UnmarshalText reads "0.5" or "500m", and rounds to a thousandth. Its errors are *Rejection.
func (c *CPU) UnmarshalText(text []byte) error {
	number, thousandths := strings.CutSuffix(string(text), "m")
	cores, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(cores) || strings.ContainsAny(number, "xXpP_") {
		return Reject(CodeInvalidValue, "", "%s is not an amount of CPU: write it in cores as 0.5, or as 500m", quote(string(text)))
	}
	if !thousandths {
		cores *= float64(Core)
	}
	if cores < 0 || cores > float64(MaxCPU) {
		return Reject(CodeOutOfRange, "", "%s is not between 0 and %s cores", quote(string(text)), MaxCPU)
	}
	*c = CPU(math.Round(cores))
	return nil
}
