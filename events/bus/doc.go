// Package bus is the adapter of NATS JetStream: the streams, their inboxes, the fenced append, orders, heartbeats and
// buckets. It is the one package that imports jetstream.
//
// Bus is the interface that all other packages use. JetStream implements it on a connection, and package memory in
// memory; the suite in package conformance holds both to the same behavior.
//
// The package does not know the meaning of a message. It translates, calls with the caller's deadline, and translates back:
//
//	after, err := b.Append(ctx, bus.Log, after, round)   // all or nothing, and only at this place
//	switch {
//	case errors.Is(err, bus.ErrPosition): another client has written in between: fold the log again
//	case errors.Is(err, bus.ErrUnknown):  it may be stored or not: read the log before doing anything
//	}
package bus
