package screens

// coordinator shows which coordinator leads, how fast it decides, and how full the bus is.
func coordinator() *screen {
	b := board("rookery-coordinator", "coordinator and bus", "The leader, the speed of its decisions, and the use of the bus.")
	for _, p := range []panel{
		figure(what{"Leaders", "Coordinators that lead. Exactly one must lead.", unitCount}, 4,
			colours(bad, level{1, good}, level{2, warns}),
			ask{orZero(sumBy(`rookery_coordinator_role{rookery_role="leader"}`), prometheusItself), "leaders"}),
		figure(what{"Standbys", "Coordinators ready for a failover. Without one, nothing is decided while the leader is down.", unitCount},
			4,
			colours(plain, level{1, good}),
			ask{orZero(sumBy(`rookery_coordinator_role{rookery_role="standby"}`), prometheusItself), "standbys"}),
		figure(what{"Lag", "Messages that the leader has not decided yet.", unitCount}, 4, colours(good, level{100, warns}, level{1000, bad}),
			ask{total("rookery_coordinator_lag", eachStream), "messages"}),
		figure(what{"Lag in time", "How long the oldest undecided message has waited, as far as the coordinator has seen.", unitSeconds}, 4,
			colours(good, level{5, warns}, level{lagSeconds, bad}), ask{"max(rookery_coordinator_lag_duration_seconds)", "seconds"}),
		figure(what{"Commands open", "Commands that were accepted and have not ended.", unitCount}, 4, colours(plain),
			ask{maxBy("rookery_commands_open"), "open"}),
		figure(what{"Fullest stream", "Used share of its bound, without streams that drop their oldest messages.", unitShare}, 4, full(),
			ask{"max(" + fullness + ")", "full"}),
		lines(what{"Role", "1 for the leader, 0 for standbys.", unitCount}, 8,
			ask{maxBy(`rookery_coordinator_role{rookery_role="leader"}`, "instance"), "{{instance}}"}).Max(1).Decimals(0),
		lines(what{"Rounds", "Rounds a second that are appended to the log.", unitPerSec}, 8,
			ask{sumBy(perSecond("rookery_coordinator_rounds_total")), "rounds"}),
		lines(what{"Inputs and events", "Inputs that the leader reads, and events that it decides, per second.", unitPerSec}, 8,
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
		lines(what{"Fold sequence", "The log sequence up to which each coordinator has folded the log.", unitCount}, 8,
			ask{maxBy("rookery_fold_sequence", "instance"), "{{instance}}"}),
		lines(what{"Behind the log", "Events that another coordinator has folded and this one has not.", unitCount}, 8,
			ask{"scalar(max(rookery_fold_sequence)) - " + maxBy("rookery_fold_sequence", "instance"), "{{instance}}"}),
		lines(what{"Nodes answering", "Nodes whose last heartbeat came in time.", unitCount}, 8,
			ask{maxBy("rookery_nodes_answering"), "answering"}),
		lines(what{"Streams, size", "Size of each stream on disk or in memory, and the disk use of the whole NATS account.", unitBytes}, 8,
			ask{maxBy("rookery_stream_size_bytes", "rookery_stream"), "{{rookery_stream}}"},
			ask{maxBy("rookery_storage_used_bytes"), "all of the account"}),
		bars(what{"Streams, how full", "Used share of its bound. Not shown: streams without one, and ROOKERY_METRICS, which drops its oldest messages.", unitShare},
			8, full(),
			ask{fullness, "{{rookery_stream}}"}).Max(1),
		lines(what{"Streams, messages", "Messages that each stream has.", unitCount}, 8,
			ask{maxBy("rookery_stream_messages", "rookery_stream"), "{{rookery_stream}}"}),
		counted(what{"Changes of the lead", "How often a coordinator began to lead. One that does so all the time cannot write to the log.", unitCount}, 6,
			ask{sumBy(inEachBar("rookery_coordinator_terms_total"), "instance"), "{{instance}}"}),
		lines(what{"Age of backups", "How old the newest backup of each coordinator with --backup is.", unitSeconds}, 6,
			ask{maxBy("rookery_backup_age_seconds", "instance"), "{{instance}}"}).NoValue("No coordinator takes backups"),
		lines(what{"Memory of the coordinators", "Memory that the Go runtime of each coordinator uses.", unitBytes}, 6,
			ask{sumBy(of("go_memory_used_bytes", "rookery_coordinator_role"), "instance"), "{{instance}}"}),
		lines(what{"Goroutines of the coordinators", "Goroutines of each coordinator. A constant rise is a defect of Rookery.", unitCount}, 6,
			ask{maxBy(of("go_goroutine_count", "rookery_coordinator_role"), "instance"), "{{instance}}"}),
	} {
		b.WithPanel(p)
	}
	return b
}

// quiet is shown if a coordinator had nothing to decide.
const quiet = "There was nothing to decide in this time"

// fullness is the share of its bound that a stream has taken. All coordinators tell of the same streams. ROOKERY_METRICS may be full.
const fullness = `max by (rookery_stream) (rookery_stream_size_bytes{rookery_stream!="ROOKERY_METRICS"}) / (max by (rookery_stream) (rookery_stream_limit_bytes) > 0)`

// accountFullness is that of what the account may take on disk together: ROOKERY_LOG has no other bound.
const accountFullness = "max(rookery_storage_used_bytes) / (max(rookery_storage_limit_bytes) > 0)"
