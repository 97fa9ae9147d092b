// Package check holds tests of the screens and alert rules that Prometheus's own parser is needed for. It has a module of its own:
// Prometheus's would move modules that Rookery is built with. The folders pictures and draw draw screens without Grafana; what that takes is no part
// of Rookery either.
//
// The files of the folder above are read as Grafana and Prometheus read them, whoever has written them.
package check
