package projections

import "github.com/rookery-project/rookery/events"

// Rounds gives the messages of the log round by round to readers that need no state. It leaves out messages that are void and messages that
// no round closes. It checks no hash, so a reader may begin anywhere in the log. Fold gives the state.
type Rounds struct{ open []events.Message }

// Take takes the next message of the log. It returns the messages of the round that this message closes, with the closing message last. It
// also reports whether a round or a void ends with the message.
func (r *Rounds) Take(m events.Message) (closed []events.Message, ends bool) {
	r.open = append(r.open, m)
	record, err := events.ParseRecord(m)
	if err != nil {
		return nil, false
	}
	switch d := record.Data.(type) {
	case events.RoundClosed:
		closed, r.open = r.open, nil
		return closed, true
	case events.RoundVoid:
		if d.To == m.Sequence-1 && d.From <= r.open[0].Sequence {
			r.open = nil
			return nil, true
		}
	}
	return nil, false
}
