package backup

import (
	"context"
	"regexp"
	"time"
)

// orphanedAfter is how old a file is at least that is removed because no backup names it. Another process may just be taking a backup that will.
const orphanedAfter = 4 * time.Hour

// ours matches the names of the files that backups name, and of those that are not whole.
var ours = regexp.MustCompile(`^(?:(?:volume|configs|state|rounds-\d{20}-\d{20})-[0-9a-f]{16}(?:\.jsonl)?\.zst|\.part-\d+)$`)

// Prune removes all backups but the newest ones, and after some hours the files that no backup names. It keeps at least one backup.
func Prune(ctx context.Context, s Store, keep int, now time.Time) error {
	all, err := List(ctx, s)
	if err != nil {
		return err
	}
	named, whole := map[string]bool{}, 0
	for _, m := range all {
		if whole >= max(keep, 1) {
			if err := s.Delete(ctx, m.Name()); err != nil {
				return err
			}
			continue
		}
		if m.Err == nil {
			whole++
		}
		for f := range m.files {
			named[f.Name] = true
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
		if named[f.Name] || !ours.MatchString(f.Name) || now.Sub(f.At) < orphanedAfter {
			continue
		}
		if err := s.Delete(ctx, f.Name); err != nil {
			return err
		}
	}
	return nil
}
