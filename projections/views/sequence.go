package views

import (
	"bytes"
	"strconv"
)

// sequenceKey starts the last field of every value.
const sequenceKey = `,"sequence":`

// untimed returns a value without the log sequence at which it is true.
func untimed(value []byte) []byte { return value[:max(bytes.LastIndex(value, []byte(sequenceKey)), 0)] }

// sequenceOf returns the log sequence at which a value is true; 0 where the value does not say.
func sequenceOf(value []byte) uint64 {
	digits := bytes.TrimSuffix(bytes.TrimPrefix(value[len(untimed(value)):], []byte(sequenceKey)), []byte("}"))
	sequence, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return sequence
}
