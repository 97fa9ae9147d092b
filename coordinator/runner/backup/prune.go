package backup

import (
	"context"
	"strings"
	"time"
)

// orphanedAfter is how old a file is at least that is removed because no backup names it. Another process may just be taking a backup that will.
const orphanedAfter = 4 * time.Hour

// kinds begin the names of the files that backups name.
var kinds = []string{"rounds-", "volume-", "configs-", "state-", partPrefix}

// Prune removes all backups but the newest ones, and after some hours the files that no backup names. It keeps at least one backup.
func Prune(ctx context.Context, s Store, keep int, now time.Time) error {
	all, err := List(ctx, s)
	if err != nil {
		return err
	}
	keep = min(max(keep, 1), len(all))
	named := map[string]bool{}
	for _, m := range all[:keep] {
		for f := range m.files {
			named[f.Name] = true
		}
	}
	for _, m := range all[keep:] { // first: a backup without some of its files would be a damaged one
		if err := s.Delete(ctx, m.Name()); err != nil {
			return err
		}
	}
	return removeOrphans(ctx, s, named, now)
}

// removeOrphans removes files that no backup names any more, or yet: a backup may have been interrupted.
func removeOrphans(ctx context.Context, s Store, named map[string]bool, now time.Time) error {
	stored, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, f := range stored {
		if named[f.Name] || !ours(f.Name) || now.Sub(f.At) < orphanedAfter {
			continue
		}
		if err := s.Delete(ctx, f.Name); err != nil {
			return err
		}
	}
	return nil
}

func ours(name string) bool {
	for _, kind := range kinds {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}
