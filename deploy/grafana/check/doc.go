// Package check holds the tests of the screens and alert rules that need the parser of Prometheus. It is a module of its own, because
// Prometheus would change the versions of modules that Rookery is built with. The packages pictures and draw draw screens without Grafana;
// Rookery itself does not need their modules either.
//
// The tests read the files of the parent folder as Grafana and Prometheus read them, and do not depend on how the files were made.
package check
