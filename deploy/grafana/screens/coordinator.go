package screens

// coordinator says who leads, how fast decisions are made, and how full the bus is.
func coordinator() *screen {
	b := board("rookery-coordinator", "coordinator and bus", "Who leads, how fast decisions are made, and how full the bus is.")
	for _, p := range []panel{
		figure(what{"Leaders", "Coordinators that lead. It is to be one.", unitCount}, 4,
			colours(bad, level{1, good}, level{2, warns}),
			ask{orZero(sumBy(`rookery_coordinator_role{rookery_role="leader"}`), prometheusItself), "leaders"}),
		figure(what{"Standbys", "Coordinators that take over where the leader ends. With none, nothing is decided until it is started again.", unitCount},
			4,
			colours(plain, level{1, good}),
			ask{orZero(sumBy(`rookery_coordinator_role{rookery_role="standby"}`), prometheusItself), "standbys"}),
		figure(what{"Lag", "Messages that are not decided yet.", unitCount}, 4, colours(good, level{100, warns}, level{1000, bad}),
			ask{total("rookery_coordinator_lag", eachStream), "messages"}),
		figure(what{"Lag in time", "For how long the oldest message has waited, as far as that was seen.", unitSeconds}, 4,
			colours(good, level{5, warns}, level{lagSeconds, bad}), ask{"max(rookery_coordinator_lag_duration_seconds)", "seconds"}),
		figure(what{"Commands open", "Commands that were accepted and have not ended.", unitCount}, 4, colours(plain),
			ask{maxBy("rookery_commands_open"), "open"}),
		figure(what{"Fullest stream", "How much of its bound the fullest stream has taken, of those that do not let go of their oldest by design.", unitShare}, 4, full(),
			ask{"max(" + fullness + ")", "full"}),
		lines(what{"Role", "1 for the coordinator that leads, 0 for those that stand by.", unitCount}, 8,
			ask{maxBy(`rookery_coordinator_role{rookery_role="leader"}`, "instance"), "{{instance}}"}).Max(1).Decimals(0),
		lines(what{"Rounds", "Rounds a second that are appended to the log.", unitPerSec}, 8,
			ask{sumBy(perSecond("rookery_coordinator_rounds_total")), "rounds"}),
		lines(what{"Inputs and events", "What is taken and what is decided, a second.", unitPerSec}, 8,
			ask{sumBy(perSecond("rookery_coordinator_round_inputs_sum")), "inputs"}, ask{sumBy(perSecond("rookery_coordinator_round_events_sum")), "events"}),
		lines(what{"Inputs of a round", "How many inputs a round takes.", unitCount}, 6,
			quantiles("rookery_coordinator_round_inputs_bucket")...).NoValue(quiet),
		lines(what{"Events of a round", "How many events a round decides.", unitCount}, 6,
			quantiles("rookery_coordinator_round_events_bucket")...).NoValue(quiet),
		lines(what{"Deciding", "How long it takes to decide a round.", unitSeconds}, 6,
			quantiles("rookery_coordinator_decide_duration_seconds_bucket")...).NoValue(quiet),
		lines(what{"Appending", "How long it takes to append a round to the log.", unitSeconds}, 6,
			quantiles("rookery_coordinator_append_duration_seconds_bucket")...).NoValue(quiet),
		lines(what{"Lag by stream", "Messages of a stream that are not decided yet.", unitCount}, 8,
			ask{maxBy("rookery_coordinator_lag", "rookery_stream"), "{{rookery_stream}}"}),
		lines(what{"Lag in time by stream", "For how long the oldest message of a stream has waited.", unitSeconds}, 8,
			ask{maxBy("rookery_coordinator_lag_duration_seconds", "rookery_stream"), "{{rookery_stream}}"}),
		lines(what{"Age of inputs", "How old inputs are when their round is in the log, the slowest of 100.", unitSeconds}, 8,
			ask{quantile(0.99, perSecond("rookery_coordinator_input_age_seconds_bucket"), "rookery_stream"), "{{rookery_stream}}"}).NoValue(quiet),
		lines(what{"Fold sequence", "The place in the log that each coordinator's state is true at.", unitCount}, 8,
			ask{maxBy("rookery_fold_sequence", "instance"), "{{instance}}"}),
		lines(what{"Behind the log", "How many events each coordinator has not folded yet that another one has.", unitCount}, 8,
			ask{"scalar(max(rookery_fold_sequence)) - " + maxBy("rookery_fold_sequence", "instance"), "{{instance}}"}),
		lines(what{"Nodes answering", "Nodes that were heard within the last heartbeat.", unitCount}, 8,
			ask{maxBy("rookery_nodes_answering"), "answering"}),
		lines(what{"Streams, size", "What each stream takes on disk or in memory, and what the NATS account takes on disk together.", unitBytes}, 8,
			ask{maxBy("rookery_stream_size_bytes", "rookery_stream"), "{{rookery_stream}}"},
			ask{maxBy("rookery_storage_used_bytes"), "all of the account"}),
		bars(what{"Streams, how full", "How much of its bound each stream has taken. Those without one are not here, nor is ROOKERY_METRICS, which lets go of its oldest by itself.", unitShare},
			8, full(),
			ask{fullness, "{{rookery_stream}}"}).Max(1),
		lines(what{"Streams, messages", "Messages that each stream has.", unitCount}, 8,
			ask{maxBy("rookery_stream_messages", "rookery_stream"), "{{rookery_stream}}"}),
		counted(what{"Changes of the lead", "Times that a coordinator began to lead. One that does so again and again cannot write to the log.", unitCount}, 8,
			ask{sumBy(inEachBar("rookery_coordinator_terms_total"), "instance"), "{{instance}}"}),
		lines(what{"Memory of the coordinators", "What Go's runtime has of each coordinator's memory.", unitBytes}, 8,
			ask{sumBy(of("go_memory_used_bytes", "rookery_coordinator_role"), "instance"), "{{instance}}"}),
		lines(what{"Goroutines of the coordinators", "Goroutines of each coordinator. What climbs all the time is a defect of ours.", unitCount}, 8,
			ask{maxBy(of("go_goroutine_count", "rookery_coordinator_role"), "instance"), "{{instance}}"}),
	} {
		b.WithPanel(p)
	}
	return b
}

// quiet is said where a coordinator had nothing to decide.
const quiet = "There was nothing to decide in this time"

// fullness is the share of its bound that a stream has taken. All coordinators tell of the same streams. ROOKERY_METRICS may be full.
const fullness = `max by (rookery_stream) (rookery_stream_size_bytes{rookery_stream!="ROOKERY_METRICS"}) / (max by (rookery_stream) (rookery_stream_limit_bytes) > 0)`

// accountFullness is that of what the account may take on disk together: ROOKERY_LOG has no other bound.
const accountFullness = "max(rookery_storage_used_bytes) / (max(rookery_storage_limit_bytes) > 0)"
