package bus

import (
	"fmt"
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
	var begins []func() (func(), error)
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		for _, subject := range []string{events.QuestionSubject(name), events.QuestionsBy(name)} {
			begins = append(begins, func() (func(), error) {
				return answer(subject, func(m events.Message) (events.Message, error) {
					answer, err := questions[name](AskedIn(m.Subject, m.Body))
					if err != nil {
						return Refuse(answer, err), nil
					}
					return answer, nil
				})
			})
		}
	}
	return Begin(begins...)
}

// Begin calls functions of which each begins something and returns what stops it. It returns what stops all of it, from the last to the first. Where
// one fails, those before it are stopped.
func Begin(begins ...func() (stop func(), err error)) (stop func(), err error) {
	stops := make([]func(), 0, len(begins))
	stop = func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}
	for _, begin := range begins {
		one, err := begin()
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, one)
	}
	return stop, nil
}

// Refuse returns the message that answers a question that failed. It keeps the headers of the answer.
func Refuse(answer events.Message, err error) events.Message {
	h := events.Header{}
	maps.Copy(h, answer.Header)
	h[HeaderErrorCode], h[HeaderError] = []string{strconv.Itoa(CodeOf(err))}, []string{err.Error()}
	return events.Message{Header: h, Body: errorBody(err)}
}

// Refused returns the *QuestionError that an answer says, or nil for an answer that refuses nothing.
func Refused(m events.Message) error {
	text := m.Header.Get(HeaderErrorCode)
	if text == "" {
		return nil
	}
	code, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("the code %q of an error is not a number", text)
	}
	return &QuestionError{Code: code, Reason: m.Header.Get(HeaderError)}
}
