package screens

import (
	"strconv"
	"time"
)

// How long or how far each condition must go before its alert fires. Faults that heal by themselves have healed by then.
const (
	shunnedFor    = time.Minute      // the coordinator tries the unit again with the next command for it
	noLeaderFor   = time.Minute      // another coordinator takes over within seconds
	noQuorumFor   = 15 * time.Second // servers elect leaders within ten
	unsteadyTerms = 5                // in five minutes
	lagSeconds    = 10               // messages are decided within milliseconds
	lagFor        = 30 * time.Second
	pendingFor    = 5 * time.Minute // a change that makes room may be under way
	degradedFor   = 2 * time.Minute // an engine is asked again every few seconds
	silentFor     = time.Minute
	overdueFor    = time.Minute // the coordinator acts on a deadline by itself
	nearBound     = 0.8
	nearBoundFor  = 5 * time.Minute
	missingFor    = 15 * time.Minute // pulling images and slow starts may take that long
	backupFor     = time.Minute      // a backup that fails is tried again
)

// severity says how soon an operator must act.
type severity string

const (
	critical severity = "critical" // now: a service is down, or soon will be
	warning  severity = "warning"  // today
)

// alert is a condition that an operator must act on.
type alert struct {
	name     string
	severity severity
	// expr has a result only while the condition holds. The alert fires after the condition has held for lasts.
	expr  string
	lasts time.Duration
	// summary is one line, description says what the condition means, and runbook says what to do. They may name labels, as templates of
	// Prometheus do.
	summary, description, runbook string
}

// ofTheService names the service that an alert is about.
const ofTheService = "{{ $labels.rookery_namespace }}/{{ $labels.rookery_service }}"

// ofTheNode names the node that an alert is about.
const ofTheNode = "{{ $labels.rookery_node }}"

var alerts = []alert{
	{
		name: "RookeryNoLeader", severity: critical, lasts: noLeaderFor,
		// A leader that hangs in its loop, or that loses the lease with each round, has the role and does not do its work.
		expr: `(sum(rookery_coordinator_role{rookery_role="leader"}) or vector(0)) < 1 or absent(rookery_commands_open) or ` +
			"sum(increase(rookery_coordinator_terms_total[5m])) > " + strconv.Itoa(unsteadyTerms),
		summary:     "No coordinator leads, or the leader changes all the time",
		description: "Instances keep running, but no coordinator decides anything. Commands wait, and failed or lost instances are not replaced.",
		runbook: `1. Does a coordinator run? On the hosts of coordinators: pgrep -af 'rookery coordinator'. Start it if it does not.
2. Does it reach the bus? On its host: rookery doctor. If NATS is down, start it. If its disk is full (df -h), make room.
3. It runs and does not lead? Its log says why. A stream is missing or is another one: run rookery bus check, and
   rookery bus adopt once you know why. Its clock is off: run timedatectl, and repair the time service.
4. It logs again and again that it folds the log? It leads and cannot write. NATS has no room, or its store is closed until NATS
   restarts. The log of the coordinator says which.
5. Its log says that it leads? Then Prometheus does not reach it: curl its --metrics address, and check the targets of Prometheus.
6. It answers there without rookery_commands_open? It hangs: restart it.
`,
	},
	{
		name: "RookeryNoQuorum", severity: critical, lasts: noQuorumFor,
		// A coordinator at a server that is cut off says so too. Where the others have a quorum, coordinators there say that.
		expr:        "max(rookery_bus_quorum) < 1",
		summary:     "Too few NATS servers run to agree on anything",
		description: "Instances keep running. Nothing is decided, and no command is acknowledged. No acknowledged command is lost.",
		runbook: `1. Which servers do not answer? On the host of a coordinator: rookery bus check. On each host of a server: pgrep -af nats-server.
2. Start those that do not run. Two of three are enough. A full disk (df -h) stops a server: make room first.
3. They run? Then they do not reach each other: check the network and the firewall between their cluster ports. Their logs say more.
4. Make and adopt nothing: neither rookery bus init nor rookery bus adopt helps. Rookery continues as soon as there is a quorum.
`,
	},
	{
		name: "RookeryCoordinatorLag", severity: warning, lasts: lagFor,
		expr:        "max by (rookery_stream) (rookery_coordinator_lag_duration_seconds) > " + strconv.Itoa(lagSeconds),
		summary:     "Messages of {{ $labels.rookery_stream }} wait for {{ $value | humanizeDuration }}",
		description: "The coordinator does not keep up with commands and statuses. It decides them late, but does not lose them.",
		runbook: `1. Open the screen "Rookery: coordinator and bus". Does deciding or appending take long?
2. Appending: the disk of NATS is slow or full. On its host: df -h, vmstat 1; rookery doctor says how the bus answers.
3. Deciding: the host of the leader is short of CPU. On that host: top.
4. Neither: clients send more than the leader can decide. Find the sender: nats stream subjects {{ $labels.rookery_stream }}. Slow it down.
`,
	},
	{
		name: "RookeryUnitShunned", severity: critical, lasts: shunnedFor,
		expr:    "max by (rookery_work, rookery_scope) (rookery_units_shunned) > 0",
		summary: "The coordinator skips the {{ $labels.rookery_work }} of {{ or $labels.rookery_scope \"more units\" }}",
		description: "A defect of the coordinator: it panics on this unit, and skips it. The unit stays as it is, and its commands fail as internal. " +
			"The coordinator handles all other units.",
		runbook: `1. Find the unit and the error: nats req rookery.api.state '{}' lists each unit with its error.
2. Send a command for the unit, with another spec or scale. The coordinator tries the unit again.
3. Or install a version with a fix, and stop the leader. The next leader tries all units again.
4. Report the defect with rookery capsule, which records how to reproduce it.
`,
	},
	{
		name: "RookeryPendingTooLong", severity: warning, lasts: pendingFor,
		expr:        "max by (rookery_namespace, rookery_service) (rookery_service_pending_duration_seconds) > 0",
		summary:     "A slot of " + ofTheService + " has had no node for {{ $value | humanizeDuration }}",
		description: "No node can run the next instance of the service. The slot waits until one can.",
		runbook: `1. Why: rookery explain ` + ofTheService + ` names the filter that removes each node.
2. cpu, memory, disk: rookery nodes shows what is reserved. Add a node, lower the requests in the spec, or scale a service down.
3. node-selector, zone, anti-affinity, spread: no node has what the spec wants. Change the spec, or start a node with these labels.
4. silent, degraded, paused, drained: rookery nodes says which. Bring the node back, or end the drain: rookery drain NODE --undo.
5. ports, host-port, max-per-node: add a node. crashed: it failed there. Read rookery logs ` + ofTheService + ` and repair the cause.
6. volumes: the volumes of the slot are on a node that cannot run it now. Repair that node. held: the node is kept for another service
   that has waited longer. rookery ps shows that service as pending: help it first.
7. not-allowed: the cluster has a list of its nodes, and this node is not in it. no-node: no node has joined; start a rookery node.
`,
	},
	{
		name: "RookeryNodeDegraded", severity: warning, lasts: degradedFor,
		expr:        `max by (rookery_node) (rookery_node_state{rookery_state="degraded"}) > 0`,
		summary:     "The engine of " + ofTheNode + " does not answer",
		description: "The node sends heartbeats, but its Podman does not answer. Its instances keep running, and the node gets no new ones.",
		runbook: `1. Why: rookery nodes ` + ofTheNode + `.
2. On that host: rookery doctor says which part of Podman does not answer; podman ps; df -h.
3. The service of Podman hangs: systemctl restart podman.service, or end its process. Containers keep running, and the node recovers by itself.
4. It always answers slowly: start the node on that host with rookery node --answer-timeout 30s.
5. It does not come back: stop the node on that host. Its instances are replaced once the node is lost. Then repair the host.
`,
	},
	{
		name: "RookeryNodeSilent", severity: critical, lasts: silentFor,
		expr:        `max by (rookery_node) (rookery_node_state{rookery_state=~"silent|lost"}) > 0`,
		summary:     ofTheNode + " is silent",
		description: "The node sends no heartbeats, and was not drained before. Its instances are replaced elsewhere once the node is lost.",
		runbook: `1. Since when, and with what: rookery nodes ` + ofTheNode + `; rookery ps.
2. Is its host up? Log in, or start it. The node starts its instances again by itself.
3. Does the node run? On that host: pgrep -af 'rookery node'. Start it if it does not; containers keep running without it.
4. Does it reach the bus? On that host: rookery doctor. Repair the network or the credentials.
5. The host is gone for good: rookery forget ` + ofTheNode + `.
`,
	},
	{
		name: "RookeryOperationOverdue", severity: warning, lasts: overdueFor,
		expr: "max by (rookery_namespace, rookery_service, rookery_operation, rookery_phase) (rookery_operation_overdue_seconds) > 0",
		summary: "The {{ $labels.rookery_operation }} of " + ofTheService +
			" is over its deadline in the phase {{ $labels.rookery_phase }}",
		description: "It is overdue by {{ $value | humanizeDuration }}. Some slots do not finish the phase and the others wait for them, " +
			"or the operation is paused and waits for an operator.",
		runbook: `1. Which slots does it wait for? rookery ops ` + ofTheService + `, and the screen "Rookery: operations and barriers".
2. Why have they not finished? rookery ps ` + ofTheService + `; rookery logs ` + ofTheService + `; rookery events ` + ofTheService + `.
3. Repair the cause: the image, the health check, the hook or the node. If the update is paused, send the next spec: rookery ensure.
4. Or return to the previous revision: rookery rollback ` + ofTheService + `, or rookery cancel ` + ofTheService + `.
`,
	},
	{
		name: "RookeryStreamNearBound", severity: critical, lasts: nearBoundFor,
		expr: fullness + " > " + strconv.FormatFloat(nearBound, 'g', -1, 64) + " or label_replace(" +
			accountFullness + " > " + strconv.FormatFloat(nearBound, 'g', -1, 64) + `, "rookery_stream", "The storage of the NATS account", "", "")`,
		summary: "{{ $labels.rookery_stream }} has taken {{ $value | humanizePercentage }} of its bound",
		description: "A full ROOKERY_COMMANDS refuses commands. A full ROOKERY_STATUS loses statuses until the nodes send them again. " +
			"ROOKERY_LOG has no bound of its own. It is bounded by the storage of its account, if that has a limit, and of the server, " +
			"which is not measured here. When that storage is full, the coordinator can decide nothing.",
		runbook: `1. The storage of the account: rookery bus check says how much of it the log takes.
   Archive the oldest part: rookery archive --to DIR --keep-age 720h. Or raise the limit of the account. For a stream, read on.
2. Does a coordinator lead and keep up? Open the screen "Rookery: coordinator and bus". Rookery deletes decided commands after a day, or as soon as
   they take a quarter of ROOKERY_COMMANDS.
3. Which client sends so much? nats stream subjects {{ $labels.rookery_stream }} counts messages by subject. Stop that client, or slow it down.
4. ROOKERY_STATUS: an instance that restarts all the time sends a status each time. rookery ps shows it; repair the service, or rookery drop it.
5. Do not purge, change or delete the stream: a purge loses commands, and the coordinator refuses a stream with another bound or a new one.
`,
	},
	{
		name: "RookeryReplicaMissing", severity: critical, lasts: missingFor,
		expr: "max by (rookery_namespace, rookery_service) (rookery_service_desired) - " +
			"max by (rookery_namespace, rookery_service) (rookery_service_online) > 0",
		summary:     ofTheService + " lacks {{ $value }} instances",
		description: "Fewer instances serve, in any revision, than the service wants, and repair has not restored them.",
		runbook: `1. Which, and why: rookery ps ` + ofTheService + ` shows the status of each instance.
2. offline with a reason: rookery logs ` + ofTheService + `; rookery events ` + ofTheService + `. Repair the image, the health check or the spec.
3. No instance: rookery explain ` + ofTheService + `.
4. An update is paused or takes long: rookery ops ` + ofTheService + `.
   rookery rollback ` + ofTheService + ` restores the previous revision.
`,
	},
	{
		name: "RookeryBackupOld", severity: warning, lasts: backupFor,
		// The second part: some coordinator took backups within a day, and none reports any now.
		expr: "max by (instance) (rookery_backup_age_seconds) > 2 * max by (instance) (rookery_backup_interval_seconds) or " +
			"(max(last_over_time(rookery_backup_age_seconds[1d])) unless max(rookery_backup_age_seconds))",
		summary:     "The newest backup{{ with $labels.instance }} of {{ . }}{{ end }} is {{ $value | humanizeDuration }} old, or more",
		description: "A coordinator takes no backups any more. If the bus loses its streams now, all that happened since then is lost.",
		runbook: `1. Without an instance? No coordinator takes backups any more, and one did: start it, with --backup.
2. Why: the log of that coordinator has "no backup was taken" with the error and what to do.
3. Disk full: df -h on its host. Lower --backup-keep, or move older backups away.
4. The log was trimmed before its first backup: run rookery bus backup with --archive once, into the same folder.
5. Until it is repaired, take a backup by hand: rookery bus backup DIR.
`,
	},
}
