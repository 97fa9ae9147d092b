package events

import (
	"fmt"
	"strconv"
	"strings"
)

// Level counts what came into the messages that Rookery's programs write to each other. A cluster has one level, which stands in its log.
// Events and fields that came with a level are only written in a cluster that has reached it. A new cluster begins at the highest level of
// its first leader. Later, its operator raises it, and until then each program can be replaced by one of the version before.
type Level uint32

const (
	// LevelPrograms is the level with which levels themselves came: cluster.level, and the program in node.joined.
	LevelPrograms Level = 1
	// LevelActors is the level with which accounts came: cluster.adopted says whether they are on, and events which user sent their command.
	LevelActors Level = 2
	// LevelAdmissions is the level with which tokens came: cluster.token-created, node.admitted, node.revoked and
	// instance.session-opened.
	LevelAdmissions Level = 3
	// LevelSignatures is the level with which rounds are signed, and nodes may have another key: cluster.signed, and the former key in node.admitted.
	LevelSignatures Level = 4
	// LevelDrainDelay is the level with which drain_delay came, in specs.
	LevelDrainDelay Level = 5
)

// Levels are the levels at which a program works, both included.
type Levels struct {
	Least Level `json:"least,omitzero"`
	Most  Level `json:"most"`
}

// OwnLevels are the levels at which this program works.
var OwnLevels = Levels{Most: LevelDrainDelay}

// Hold reports whether a program with these levels works at this one.
func (l Levels) Hold(level Level) bool { return l.Least <= level && level <= l.Most }

// String writes the levels as in a header: "0-1".
func (l Levels) String() string { return fmt.Sprintf("%d-%d", l.Least, l.Most) }

// Advice says what an operator must do about a program that does not work at the level of its cluster; "" for one that does.
func (l Levels) Advice(level Level) string {
	switch {
	case level > l.Most:
		return fmt.Sprintf("upgrade it: it works at levels up to %d, and the cluster is at level %d", l.Most, level)
	case level < l.Least:
		return fmt.Sprintf("run an older version until `rookery cluster finish-upgrade` has raised the level of the cluster:"+
			" it works at levels from %d on, and the cluster is at level %d", l.Least, level)
	}
	return ""
}

// ParseLevels reads levels as in a header. A program that does not say its levels works at level 0 alone.
func ParseLevels(s string) (Levels, error) {
	if s == "" {
		return Levels{}, nil
	}
	least, most, _ := strings.Cut(s, "-")
	from, err := strconv.ParseUint(least, 10, 32)
	to, alsoErr := strconv.ParseUint(most, 10, 32)
	if err != nil || alsoErr != nil || from > to {
		return Levels{}, fmt.Errorf("%s is not two numbers as in 0-1, the lower one first", quote(s))
	}
	return Levels{Least: Level(from), Most: Level(to)}, nil
}

// Program is the Rookery that a coordinator or a node runs.
type Program struct {
	// Version is for readers, as in v0.3.1.
	Version string `json:"version,omitempty"`
	Levels  Levels `json:"levels"`
}

// MaxVersion is the greatest length of a program's version in bytes.
const MaxVersion = 128

// The headers with which a program says what it is. Programs that do not know them ignore them.
const (
	headerVersion = "Rookery-Version"
	headerLevels  = "Rookery-Levels"
)

// program reads what the sender of a message says of itself.
func program(read func(header string) string) (Program, error) {
	levels, err := ParseLevels(read(headerLevels))
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", headerLevels, err)
	}
	version := read(headerVersion)
	if len(version) > MaxVersion {
		return Program{}, fmt.Errorf("%s has %d bytes, more than %d", headerVersion, len(version), MaxVersion)
	}
	return Program{Version: version, Levels: levels}, nil
}
