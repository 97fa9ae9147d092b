package archive

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrMissing occurs when files of an archive do not follow each other.
var ErrMissing = errors.New("a part of the archive is missing")

// File names a file of an archive, and the messages in it.
type File struct {
	Name string
	// First and Last are the sequences of its first and last message.
	First, Last uint64
}

const (
	prefix = "rookery-log-"
	suffix = ".jsonl.zst"
)

// NewFile names the file with these messages of the log. Files sort by their names.
func NewFile(logID string, first, last uint64) File {
	return File{fmt.Sprintf("%s%s-%020d-%020d%s", prefix, logID, first, last, suffix), first, last}
}

// Files returns the names that are files of an archive of the log, in the order of its messages: from the first on, and without
// a gap.
func Files(logID string, names []string) ([]File, error) {
	var files []File
	for _, name := range names {
		if f, ours := parse(logID, name); ours {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.First, b.First) })
	next := uint64(1)
	for _, f := range files {
		if f.First != next || f.Last < f.First {
			return nil, fmt.Errorf("%w: want a file before %s that ends at sequence %d", ErrMissing, f.Name, f.First-1)
		}
		next = f.Last + 1
	}
	return files, nil
}

func parse(logID, name string) (File, bool) {
	rest, ours := strings.CutPrefix(name, prefix+logID+"-")
	rest, ends := strings.CutSuffix(rest, suffix)
	from, to, two := strings.Cut(rest, "-")
	first, errFirst := strconv.ParseUint(from, 10, 64)
	last, errLast := strconv.ParseUint(to, 10, 64)
	return File{name, first, last}, ours && ends && two && errFirst == nil && errLast == nil
}

// End returns the last sequence of the files; 0 if there are none.
func End(files []File) uint64 {
	if len(files) == 0 {
		return 0
	}
	return files[len(files)-1].Last
}
