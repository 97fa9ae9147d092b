package main

// equivalents has the mutants that no test can tell from the original, and a sentence why.
var equivalents = map[string]string{
	"coordinator.Turn.fillOnce/assign/3":                "No node has room for the slots that are asked about again either, and only the first is told.",
	"coordinator.Turn.overdue/boundary/2":               "Of two equal times it makes no difference which is kept.",
	"coordinator/operation.staleSnapshot/boundary/1":    "A snapshot is asked for by one event and begun by another.",
	"coordinator/placement.Board.queue/assign/2":        "The board computes again what it does not remember.",
	"coordinator/placement.Board.queue/call/1":          "It bounds what is remembered, and decisions are the same whatever is.",
	"coordinator/placement.candidate.before/boundary/1": "Scores are compared where they differ.",
	"coordinator/placement.candidate.before/boundary/2": "Counts are compared where they differ.",
	"coordinator/placement.candidate.before/boundary/3": "No two candidates have one rank.",
	"coordinator/placement.lacksOf/boundary/3":          "Nothing is lacked where both are equal.",
	"coordinator/placement.lacksOf/boundary/6":          "Nothing is lacked where both are equal.",
	"coordinator/placement.lacksOf/boundary/9":          "Nothing is lacked where both are equal.",
	"coordinator/placement.over/boundary/2":             "Nothing is too much where both are equal.",
	"coordinator/placement.over/boundary/4":             "Nothing is too much where both are equal.",
	"coordinator/placement.over/boundary/6":             "Nothing is too much where both are equal.",
	"coordinator/placement.queue.chosen/assign/1":       "It saves looking the node up by its name.",
	"coordinator/placement.queue.shifted/boundary/4":    "A zone that comes down to the least leaves the least as it is.",
	"events.Overrides.Of/boundary/2":                    "Labels that nothing is put in place of are the same.",
	"events.Position.Above/boundary/1":                  "The epochs differ there.",
	"events.Request.reject/assign/2":                    "What reading returns is a Rejection always.",
	"events.Restart.Backoff/boundary/1":                 "A delay that is doubled beyond the longest is cut to it.",
	"events.setAttribute/call/4":                        "Nothing reads the subject of an envelope, and every one is taken.",
	"projections.Cluster.applyNode/case/3":              "The case does nothing, and there is no default.",
}

// mostEquivalent is how many percent of the mutants may be listed: a list that grows hides what nothing tests.
const mostEquivalent = 5
