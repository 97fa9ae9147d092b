// Package supply owns what a node reads from streams, and what it stores in them beyond its statuses: its orders, the configs that these name, the
// last output of containers, and the contents of volumes.
//
// Direct does that by the interfaces of the bus, which a node may use on an open bus alone: their keys are in the body of a request, so that
// no permission can hold a node to its own. With accounts a node asks the leader, which does the same for it as far as the node's orders say:
//
//	stop, err := supply.Serve(b, leads)                  // the leader
//	s := supply.Ask(b, "edge-1")                         // the node
//	value, err := s.Config(ctx, instance, "words")
//
// A question goes to rookery.supply.<question>.<node>. Short ones are requests; orders and contents of volumes come over sessions, as a stream of
// bytes. Kubernetes does the same for its nodes: https://kubernetes.io/docs/reference/access-authn-authz/node/.
package supply
