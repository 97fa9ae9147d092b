package screens

// operations shows what changes, which slots an operation waits for, and how long phases take.
func operations() *screen {
	b := board("rookery-operations", "operations and barriers", "Operations under way, the slots that they wait for, and the time that phases take.").
		WithVariable(choice("rookery_namespace", "Namespace", "rookery_service_desired")).
		WithVariable(choice("rookery_service", "Service", `rookery_service_desired{rookery_namespace=~"$namespace"}`))
	ends := []string{"rookery_operation", "rookery_outcome"}
	for _, p := range []panel{
		figure(what{"Under way", "Operations that have not ended.", unitCount}, 6, colours(plain),
			ask{orZero("count("+maxBy("rookery_operation_phase_duration_seconds"+ofService, phases...)+")", aLeader), "under way"}),
		figure(what{"Overdue", "Operations whose phase is past its deadline, or that are paused and wait for an operator.", unitCount},
			6, colours(good, level{1, bad}),
			ask{orZero("count("+maxBy("rookery_operation_overdue_seconds"+ofService, phases...)+" > 0)", aLeader), "overdue"}),
		figure(what{"Slots awaited", "Slots that all phases together wait for.", unitCount}, 6, colours(plain),
			ask{orZero(total("rookery_operation_awaited"+ofService, phases), aLeader), "awaited"}),
		figure(what{"Ended otherwise than done", "Operations that were rolled back, aborted or superseded in the time shown.", unitCount},
			6,
			colours(good, level{1, warns}), ask{orZero(sumBy(grown(`rookery_operations_total{rookery_outcome!="done"}`, inRange)), aCoordinator), "not done"}).Decimals(0),
		underWayNow().panel(24),
		lines(what{"Time in the phase", "How long each operation has been in its current phase.", unitSeconds}, 12,
			ask{underWayOr("rookery_operation_phase_duration_seconds" + ofService), byPhase}),
		lines(what{"Overdue by operation", "How far a phase is past its deadline, or how long a paused operation has waited for an operator.", unitSeconds},
			12,
			ask{underWayOr("rookery_operation_overdue_seconds" + ofService), byPhase}),
		counted(what{"Operations by kind and end", "Operations that have ended.", unitCount}, 12,
			ask{byLabels(inEachBar("rookery_operations_total"), aCoordinator, ends...), "{{rookery_operation}} {{rookery_outcome}}"}),
		bars(what{"Operations, whole range", "How operations have ended, by kind.", unitCount}, 12, colours(plain),
			ask{byLabels(grown("rookery_operations_total", inRange), aCoordinator, ends...), "{{rookery_operation}} {{rookery_outcome}}"}).Decimals(0),
		bars(what{"Barrier wait by phase", "How long all participants took for a phase: median, and the slowest of 20.", unitSeconds},
			12, colours(plain),
			overall("rookery_barrier_duration_seconds_bucket", "rookery_phase")...).
			NoValue("No operation went through a phase in this time"),
		bars(what{"Barrier spread by phase", "How long the first participant to finish a phase waited for the slowest.", unitSeconds},
			12, colours(plain),
			overall("rookery_barrier_spread_seconds_bucket", "rookery_phase")...).
			NoValue("No operation went through a phase in this time"),
		lines(what{"Barrier wait over time", "How long all participants took for a phase, the slowest of 20.", unitSeconds}, 24,
			ask{quantile(0.95, grown("rookery_barrier_duration_seconds_bucket", inStep), "rookery_phase"), "{{rookery_phase}}"}).
			NoValue("No operation went through a phase in this time"),
	} {
		b.WithPanel(p)
	}
	return b
}

// phases tell operations apart that are under way.
var phases = []string{"rookery_namespace", "rookery_service", "rookery_operation", "rookery_phase"}

// byPhase is the legend of what is told of them.
const byPhase = "{{about}} {{rookery_operation}} {{rookery_phase}}"

// underWayNow lists the operations that are under way, a row each, with the slots that they wait for.
func underWayNow() rows {
	first := append(append([]string{}, phases...), "rookery_ordinal", "rookery_node")
	return rows{
		what: what{
			"Under way now", "Number of slots that each phase waits for, and the first of them: its ordinal and its node. Click a service to open it.",
			unitCount,
		},
		labels: first, titles: []string{"Namespace", "Service", "Operation", "Phase", "Slowest slot", "On node"},
		columns: []column{
			{"Slots awaited", unitCount, maxBy("rookery_operation_awaited"+ofService, first...), nil},
			{"In the phase for", unitSeconds, ofAwaited("rookery_operation_phase_duration_seconds", first), nil},
			{"Overdue by", unitSeconds, ofAwaited("rookery_operation_overdue_seconds", first), colours(good, level{1, bad})},
		},
	}
}

// ofAwaited is a time of the operation that slots are awaited of, with their labels: so that both are in one row.
func ofAwaited(series string, first []string) string {
	same := "on (rookery_namespace, rookery_service, rookery_operation, rookery_phase)"
	return "0 * " + maxBy("rookery_operation_awaited"+ofService, first...) + " + " + same + " group_left () " + maxBy(series+ofService, phases...)
}
