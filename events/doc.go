// Package events owns the words of Rookery: every message that crosses the bus, the subject it stands on, the bytes
// it is written in, and the rules that a message from outside must keep.
//
// It never knows how messages travel or what they lead to: no network, no disk, no clock, no randomness. A message
// that comes in goes
//
//	bus.Message → ParseCommand / ParseStatus → a typed value or a *Rejection that names the field
//
// and one that goes out goes
//
//	a typed value (Data) + its Scope → Encode → bus message in CloudEvents' binary mode
//
// Types are io.rookery.<thing>.v<N>.<name>; the schema of each stands at schemas/<thing>/v<N>/<name>.json.
package events
