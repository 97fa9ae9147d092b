package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxFindings is how many sentences a report has at most; its counts are of all.
const maxFindings = 20

// Operation is one request of a client, with its outcome. Times are since the ledger began.
type Operation struct {
	Key string
	// Put says that Value is to be written. Otherwise Value is what was read.
	Put   bool
	Value string
	// Answered says that the owner of the key has answered: 200, or 404 to a read. Without that, a write may or may not have happened, and
	// Failure holds the last answer.
	Answered bool
	Failure  string
	// Version is that of the key, 0 where there is none. Ordinal and ConfigVersion say who answered, as what.
	Version       uint64
	Ordinal       uint32
	ConfigVersion uint64
	// Begin is when it was first tried; Start and End are those of the request that was answered, or the last one.
	Begin, Start, End time.Duration

	hint string // where an instance has sent the client
}

// Report is what the operations show.
type Report struct {
	// Operations were begun; Puts and Gets of them were answered, Unanswered given up.
	Operations, Puts, Gets, Unanswered int
	// Keys is how many keys there are, and Lost how many of them could not be read at the end with the last acknowledged
	// write or a newer one.
	Keys, Lost int
	// Stale counts answers that are older than what was known before they began: reads of a version lower than one that was
	// answered before, and writes of a version that is not higher. A lost key that is answered at the end is stale too.
	Stale int
	// Wrong counts answers with a value that no client has ever written to the key, or another value than was acknowledged for that
	// version. It also counts versions that were acknowledged for two writes.
	Wrong int
	// DoubleOwners counts answers which show that two slots served a key at once. Such an answer has the same config version as an answer
	// of another slot. Or it has a lower one than an answer of another slot that came before this request began. This holds because a key
	// has one owner under one config version, and the owner under a later version serves only after the earlier owners have stopped. An
	// answer under a higher version never shows it. Neither do two answers whose requests overlap in time, because one may have followed
	// the other.
	DoubleOwners int
	// Silence is the longest time from the beginning of an operation on a key to the next answer for that key, to whomever.
	// Longest is that of the key for which it is longest, LongestKey.
	Silence    map[string]time.Duration
	Longest    time.Duration
	LongestKey string
	// Findings are sentences about the first that was found.
	Findings []string
}

// Kept returns nil if the service has kept its promises, and otherwise an error that lists the broken ones.
func (r Report) Kept() error {
	if r.Lost+r.Stale+r.Wrong+r.DoubleOwners == 0 {
		return nil
	}
	return fmt.Errorf("%s: %q", r, r.Findings)
}

func (r Report) String() string {
	return fmt.Sprintf("%d operations on %d keys: %d puts and %d gets answered, %d not; %d keys lost, %d stale, %d wrong, %d double owners; "+
		"longest time without an answer %s (%s)", r.Operations, r.Keys, r.Puts, r.Gets, r.Unanswered, r.Lost, r.Stale, r.Wrong,
		r.DoubleOwners, r.Longest.Round(time.Millisecond), r.LongestKey)
}

func (r *Report) find(count *int, op Operation, format string, args ...any) {
	*count++
	if len(r.Findings) < maxFindings {
		r.Findings = append(r.Findings, fmt.Sprintf("%s, slot %d under config version %d, version %d at %s to %s: %s",
			op.Key, op.Ordinal, op.ConfigVersion, op.Version, op.Start, op.End, fmt.Sprintf(format, args...)))
	}
}

// Judge returns what the operations show, and those that read each key at the end.
func Judge(book, final []Operation) Report {
	r := Report{Operations: len(book), Silence: map[string]time.Duration{}}
	keys := map[string][]Operation{}
	for _, op := range book {
		keys[op.Key] = append(keys[op.Key], op)
		switch {
		case !op.Answered:
			r.Unanswered++
		case op.Put:
			r.Puts++
		default:
			r.Gets++
		}
	}
	r.Keys = len(keys)
	r.judgeFinal(keys, final)
	for _, op := range final {
		if op.Answered {
			keys[op.Key] = append(keys[op.Key], op)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		ops := keys[key]
		slices.SortStableFunc(ops, func(a, b Operation) int { return cmp.Compare(a.Start, b.Start) })
		r.judgeValues(ops)
		r.judgeOrder(ops)
		r.judgeSilence(key, ops)
	}
	return r
}

// judgeFinal finds the keys that are lost.
func (r *Report) judgeFinal(keys map[string][]Operation, final []Operation) {
	read := map[string]Operation{}
	for _, op := range final {
		read[op.Key] = op
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var last Operation
		for _, op := range keys[key] {
			if op.Put && op.Answered && op.Version > last.Version {
				last = op
			}
		}
		got := read[key]
		switch {
		case last.Version == 0:
		case !got.Answered:
			r.find(&r.Lost, last, "it cannot be read: %s", got.Failure)
		case got.Version < last.Version, got.Version == last.Version && got.Value != last.Value:
			r.find(&r.Lost, last, "%q was written, and slot %d has %q of version %d", last.Value, got.Ordinal, got.Value, got.Version)
		}
	}
}

// judgeValues finds the wrong ones among all operations on one key.
func (r *Report) judgeValues(ops []Operation) {
	tried := map[string]bool{}
	known := map[uint64]string{0: ""}
	for _, op := range ops {
		if !op.Put {
			continue
		}
		tried[op.Value] = true
		if !op.Answered {
			continue
		}
		if before, ok := known[op.Version]; ok {
			r.find(&r.Wrong, op, "%q is acknowledged for the version that %q has", op.Value, before)
		}
		known[op.Version] = op.Value
	}
	for _, op := range ops {
		if op.Put || !op.Answered || op.Version == 0 {
			continue
		}
		before, ok := known[op.Version]
		switch {
		case ok && before != op.Value:
			r.find(&r.Wrong, op, "%q was read where %q stood", op.Value, before)
		case !tried[op.Value]:
			r.find(&r.Wrong, op, "%q was read, which no client has written", op.Value)
		}
		known[op.Version] = op.Value
	}
}

// judgeOrder finds stale answers and double owners among all operations on one key, which are in the order of Start.
func (r *Report) judgeOrder(ops []Operation) {
	ended := slices.DeleteFunc(slices.Clone(ops), func(op Operation) bool { return !op.Answered })
	slices.SortFunc(ended, func(a, b Operation) int { return cmp.Compare(a.End, b.End) })
	var version uint64               // the highest that was answered so far
	reached := map[uint32]uint64{}   // the highest config version that each slot has answered under so far
	owners := map[uint64]Operation{} // who was the first to answer under each config version
	for _, op := range ops {
		if !op.Answered {
			continue
		}
		for ; ended[0].End < op.Start; ended = ended[1:] {
			version = max(version, ended[0].Version)
			reached[ended[0].Ordinal] = max(reached[ended[0].Ordinal], ended[0].ConfigVersion)
		}
		if op.Version < version || op.Put && op.Version == version {
			r.find(&r.Stale, op, "version %d was answered before", version)
		}
		first, ok := owners[op.ConfigVersion]
		if !ok {
			owners[op.ConfigVersion] = op
		}
		if ok && first.Ordinal != op.Ordinal {
			r.find(&r.DoubleOwners, op, "slot %d has answered under this config version too", first.Ordinal)
			continue
		}
		for _, other := range slices.Sorted(maps.Keys(reached)) {
			if other != op.Ordinal && reached[other] > op.ConfigVersion {
				r.find(&r.DoubleOwners, op, "slot %d has answered before under config version %d", other, reached[other])
				break
			}
		}
	}
}

// judgeSilence finds the longest time for which one key was asked for and not answered.
func (r *Report) judgeSilence(key string, ops []Operation) {
	var ends []time.Duration
	for _, op := range ops {
		if op.Answered {
			ends = append(ends, op.End)
		}
	}
	slices.Sort(ends)
	for _, op := range ops {
		until := op.End
		if n, _ := slices.BinarySearch(ends, op.Begin); n < len(ends) {
			until = ends[n]
		}
		r.Silence[key] = max(r.Silence[key], until-op.Begin)
	}
	if r.Silence[key] > r.Longest || r.LongestKey == "" {
		r.Longest, r.LongestKey = r.Silence[key], key
	}
}
