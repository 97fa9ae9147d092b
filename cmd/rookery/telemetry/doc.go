// Package telemetry exports the metrics, traces and logs of a process. With an address, it serves metrics to Prometheus. If the standard
// OTEL_* variables name a collector, it pushes all signals by OTLP. Without either, the process measures nothing, opens no connection
// and listens on no port.
//
// It never decides what to measure: the instruments are in the runtimes and adapters.
package telemetry
