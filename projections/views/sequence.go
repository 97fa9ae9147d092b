package views

import (
	"bytes"
	"strconv"
)

// sequenceKey begins what every value ends with.
const sequenceKey = `,"sequence":`

// untimed is a value without the place in the log that it is true at.
func untimed(value []byte) []byte { return value[:max(bytes.LastIndex(value, []byte(sequenceKey)), 0)] }

// sequenceOf returns the place in the log that a value is true at; 0 where it does not say.
func sequenceOf(value []byte) uint64 {
	digits := bytes.TrimSuffix(bytes.TrimPrefix(value[len(untimed(value)):], []byte(sequenceKey)), []byte("}"))
	sequence, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return sequence
}
