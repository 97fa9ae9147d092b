// Package views writes the state to key-value buckets, where operators and clients read it. A bucket has one value for each
// service, slot, node, operation or port, with the sequence of the log at which the value is true.
//
// The package decides nothing, and the coordinator decides nothing from the views. An operator may delete them at any time: the
// leader writes them again from the state.
//
//	writer := views.Start(ctx, bus, log, buckets, views.All(cluster))   // writes everything, and removes what does not belong there
//	writer.Show(changes)                                                // hands over what changed and returns at once
//	writer.Check()                                                      // asks for a check: the writer ends if another client changed a bucket
package views
