// Package snapshots keeps the state at the ends of some rounds, so that a fold of the log need not begin with its first message: Folds
// begins one with the nearest snapshot (folds.go), and a Keeper takes new ones beside the loop and removes those that are too many
// (keeper.go). A snapshot is a cache of the log: each is held to the log before it is used, and one that is damaged, or of another log or
// version, costs time alone.
package snapshots
