// Package telemetry wires what the parts measure to those who collect it. Prometheus comes and asks, where an address was given for
// that; a collector is told by OTLP, where the standard OTEL_* variables say so. Without either nothing is measured, nobody is
// called, and nothing listens.
//
// It never decides what is measured: instruments are in the shells and doors.
package telemetry
