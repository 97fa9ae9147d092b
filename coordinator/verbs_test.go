package coordinator

import (
	"testing"

	"github.com/rookery-project/rookery/events"
)

func TestEachCommandHasAnEntry(t *testing.T) {
	for _, sample := range events.Samples() {
		command, is := sample.(events.Command)
		if !is {
			continue
		}
		_, service := verbs[command.Kind()]
		_, other := admissions[command.Kind()]
		if toService := command.Kind().Thing == "service"; service != toService || other == toService {
			t.Errorf("%s has an entry among those to services: %t, among the others: %t", command.Kind().Word(), service, other)
		}
	}
}
