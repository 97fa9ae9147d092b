package coordinator

// Bound leaves the round room for so many more events.
func (t *Turn) Bound(events int) { t.most = len(t.Records) + events }
