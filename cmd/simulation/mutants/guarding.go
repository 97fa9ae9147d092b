package main

// guarding are bugs in how exclusive slots have one live copy.
var guarding = []mutant{
	{
		"replaced-within-its-window", "an exclusive instance is replaced before its host must have ended it", []edit{{
			"coordinator/exclusive.go", "after = max(after, time.Duration(i.Window)) + events.WindowMargin", "after /= 4",
		}},
	},
}
