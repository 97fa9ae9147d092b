package main

// equivalents lists the mutants that behave as the original, each with the reason.
var equivalents = map[string]string{
	"coordinator.Turn.fillOnce/assign/3":                "No node has room for the slots that it asks about again, and it reports only the first.",
	"coordinator.Turn.overdue/boundary/2":               "Either of two equal times may be kept.",
	"coordinator/operation.staleSnapshot/boundary/1":    "One event requests a snapshot, and another one begins it.",
	"coordinator/placement.Board.queue/assign/2":        "The board computes again what it has not cached.",
	"coordinator/placement.Board.queue/call/1":          "It bounds the cache, which changes no decision.",
	"coordinator/placement.candidate.before/boundary/1": "The scores differ there.",
	"coordinator/placement.candidate.before/boundary/2": "The counts differ there.",
	"coordinator/placement.candidate.before/boundary/3": "No two candidates have one rank.",
	"coordinator/placement.lacksOf/boundary/3":          "If both are equal nothing is lacking.",
	"coordinator/placement.lacksOf/boundary/6":          "If both are equal nothing is lacking.",
	"coordinator/placement.lacksOf/boundary/9":          "If both are equal nothing is lacking.",
	"coordinator/placement.over/boundary/2":             "If both are equal nothing is over the limit.",
	"coordinator/placement.over/boundary/4":             "If both are equal nothing is over the limit.",
	"coordinator/placement.over/boundary/6":             "If both are equal nothing is over the limit.",
	"coordinator/placement.queue.chosen/assign/1":       "It saves looking the node up by its name.",
	"coordinator/placement.queue.shifted/boundary/4":    "A zone that comes down to the minimum does not change the minimum.",
	"events.Overrides.Of/boundary/2":                    "Without overrides the labels stay the same.",
	"events.Position.Above/boundary/1":                  "The epochs differ there.",
	"events.Request.reject/assign/2":                    "Every error of reading is a Rejection.",
	"events.Restart.Backoff/boundary/1":                 "A delay that doubles beyond the longest is cut to the longest.",
	"events.setAttribute/call/4":                        "No code reads the subject of an envelope, and every subject is accepted.",
	"projections.Cluster.applyNode/case/3":              "The case does nothing, and there is no default.",
}

// mostEquivalent is the highest percentage of mutants that may be listed: a list that grows hides untested code.
const mostEquivalent = 5
