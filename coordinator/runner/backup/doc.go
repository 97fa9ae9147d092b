// Package backup copies into a store what a cluster cannot derive: the log, the configs and the contents of volume snapshots. It also brings
// them back to a bus that has lost them.
//
// A backup is a manifest (manifest.go) that names its files with their digests. Files are named by their content, so that a later backup adds
// only what is new, and nothing that an earlier one names is ever changed:
//
//	m, err := backup.Take(ctx, source, store)          // consistent at the end of a round (take.go)
//	cluster, err := backup.Verify(ctx, store, m, nil)  // reads every file, and folds the log (verify.go)
//	wrote, err := backup.Restoration{…}.Run(ctx, told) // fills an empty log (restore.go)
//
// Orders and views are not in a backup: they follow from the log. The package knows nothing of the coordinator's loop, which need not run.
package backup
