// The fixtures pretend to be the real module, so that rules bound to paths and
// import paths see what they would see there. Being a module of its own below
// a dot folder keeps them out of every ./... of the real one.
module github.com/rookery-project/rookery

go 1.26.0

require (
	github.com/containers/podman/v5 v5.0.0
	github.com/nats-io/nats.go v1.0.0
	go.opentelemetry.io/otel v1.0.0
)

// Hollow stand-ins: the laws look at import paths only, and proving them must
// not need the network.
replace (
	github.com/containers/podman/v5 => ./.stubs/podman
	github.com/nats-io/nats.go => ./.stubs/nats.go
	go.opentelemetry.io/otel => ./.stubs/otel
)
