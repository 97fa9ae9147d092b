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
				return refusal(answer, err), nil
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

// refusal is the message that answers a question that failed. It keeps the headers of the answer.
func refusal(answer events.Message, err error) events.Message {
	h := events.Header{}
	maps.Copy(h, answer.Header)
	h[HeaderErrorCode], h[HeaderError] = []string{strconv.Itoa(CodeOf(err))}, []string{err.Error()}
	return events.Message{Header: h, Body: errorBody(err)}
}
