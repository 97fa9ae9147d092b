package coordinator

// Bound leaves room in the round for this many more events.
func (t *Turn) Bound(events int) { t.most = len(t.Records) + events }
