package events

import "testing"

// TestOfSeveralMistakesTheFirstByNameIsTold breaks rules in fields that have no order: the answer is the same each time.
func TestOfSeveralMistakesTheFirstByNameIsTold(t *testing.T) {
	for range 20 {
		_, err := ensure(`"env":{"d=":"","a=":"","c=":"","b=":""}`)
		wantRejection(t, err, CodeInvalidName, "env.a=")
		_, err = ensure(`"labels":{"io.rookery.c":"","io.rookery.a":"","io.rookery.b":""}`)
		wantRejection(t, err, CodeInvalidName, "labels.io.rookery.a")
	}
}
