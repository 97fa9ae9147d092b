// Package bus is the door to NATS JetStream: the streams, their inboxes, the fenced append, orders, heartbeats and
// buckets. It is the one package that imports jetstream.
//
// Bus is what the rest of the house asks of a bus. JetStream implements it on a connection, package memory beside it
// in memory; the suite in package conformance holds both to the same behavior.
//
// It never knows what a message means. It translates, calls with the caller's deadline, and translates back:
//
//	after, err := b.Append(ctx, bus.Log, after, round)   // all or nothing, and only at this place
//	switch {
//	case errors.Is(err, bus.ErrPosition): somebody else has written: fold the log again
//	case errors.Is(err, bus.ErrUnknown):  it may be stored or not: read the log before doing anything
//	}
package bus
