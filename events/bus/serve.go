package bus

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rookery-project/rookery/events"
)

// ServeBy answers questions as plain requests, for a bus that has no services of its own: answer is its Answer.
func ServeBy(
	answer func(subject string, answer func(events.Message) (events.Message, error)) (func(), error),
	questions map[string]Question,
) (stop func(), err error) {
	stops := make([]func(), 0, len(questions))
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		stop, err := answer(events.APIRoot+"."+name, func(m events.Message) (events.Message, error) {
			answer, err := questions[name](m.Body)
			if err != nil {
				refusal := events.Header{HeaderErrorCode: {strconv.Itoa(CodeOf(err))}, HeaderError: {err.Error()}}
				maps.Copy(refusal, answer.Header)
				return events.Message{Body: errorBody(err), Header: refusal}, nil
			}
			return answer, nil
		})
		if err != nil {
			return nil, err
		}
		stops = append(stops, stop)
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}, nil
}
