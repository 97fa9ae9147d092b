package screens

import (
	"strconv"
	"time"
)

// From when on a person is called. What heals by itself has healed before.
const (
	shunnedFor    = time.Minute // with the next command for it, it is tried again
	noLeaderFor   = time.Minute // another coordinator takes over within seconds
	unsteadyTerms = 5           // in five minutes
	lagSeconds    = 10          // messages are decided within milliseconds
	lagFor        = 30 * time.Second
	pendingFor    = 5 * time.Minute // what makes room may be under way
	degradedFor   = 2 * time.Minute // an engine is asked again every few seconds
	silentFor     = time.Minute
	overdueFor    = time.Minute // the coordinator acts on a deadline by itself
	nearBound     = 0.8
	nearBoundFor  = 5 * time.Minute
	missingFor    = 15 * time.Minute // images are pulled, and what starts slowly may take that long
)

// severity says how soon somebody is to look.
type severity string

const (
	critical severity = "critical" // now: something does not serve, or soon will not
	warning  severity = "warning"  // today
)

// alert is something that a person must act on.
type alert struct {
	name     string
	severity severity
	// expr has a result only while something is wrong, and lasts is for how long it must be.
	expr  string
	lasts time.Duration
	// summary is one line, description what it means, and runbook what to do. They may name labels, as Prometheus's templates do.
	summary, description, runbook string
}

// ofTheService names the service that an alert is about.
const ofTheService = "{{ $labels.rookery_namespace }}/{{ $labels.rookery_service }}"

// ofTheNode names the node that an alert is about.
const ofTheNode = "{{ $labels.rookery_node }}"

var alerts = []alert{
	{
		name: "RookeryNoLeader", severity: critical, lasts: noLeaderFor,
		// One that hangs in its loop, or that loses the lead with each round, has the role and does not do its work.
		expr: `(sum(rookery_coordinator_role{rookery_role="leader"}) or vector(0)) < 1 or absent(rookery_commands_open) or ` +
			"sum(increase(rookery_coordinator_terms_total[5m])) > " + strconv.Itoa(unsteadyTerms),
		summary:     "No coordinator leads, or none for long",
		description: "What runs goes on running, and nothing is decided: commands wait, and what fails or is lost is not replaced.",
		runbook: `1. Does one run? On the hosts of coordinators: pgrep -af 'rookery coordinator'. Start it where it does not.
2. Does it reach the bus? On its host: rookery doctor. Start NATS where it is down, and make room where its disk is full (df -h).
3. It runs and does not lead? What it logs says why. It says that a stream is missing or another one: rookery bus check, and
   rookery bus adopt once you know why. Its clock is off: timedatectl, and mend its time service.
4. It logs again and again that it folds the log? It leads and cannot write: NATS has no room, or its store is closed until NATS is
   started again. What it logs says which.
5. It leads, by its log? Then Prometheus does not reach it: curl its --metrics address, and look at the targets of Prometheus.
6. It answers there without rookery_commands_open? It hangs: start it again.
`,
	},
	{
		name: "RookeryCoordinatorLag", severity: warning, lasts: lagFor,
		expr:        "max by (rookery_stream) (rookery_coordinator_lag_duration_seconds) > " + strconv.Itoa(lagSeconds),
		summary:     "Messages of {{ $labels.rookery_stream }} wait for {{ $value | humanizeDuration }}",
		description: "The coordinator does not keep up with what people ask or nodes see. It is decided late, and not lost.",
		runbook: `1. Look at the screen "Rookery: coordinator and bus": is it deciding or appending that takes long?
2. Appending: the disk of NATS is slow or full. On its host: df -h, vmstat 1; rookery doctor says how the bus answers.
3. Deciding: its host is short of CPU. On the host of the coordinator that leads: top.
4. Neither: more comes than can be decided. Who sends it? nats stream subjects {{ $labels.rookery_stream }}. Have that sender wait.
`,
	},
	{
		name: "RookeryUnitShunned", severity: critical, lasts: shunnedFor,
		expr:        "max by (rookery_work, rookery_scope) (rookery_units_shunned) > 0",
		summary:     "The coordinator leaves the {{ $labels.rookery_work }} of {{ or $labels.rookery_scope \"more units\" }} alone",
		description: "A defect of the coordinator. All else goes on; what is left alone stays as it is, and commands for it fail as internal.",
		runbook: `1. Which, and why: nats req rookery.api.state '{}' says what failed, of each.
2. Send what is wanted of it again, with another spec or scale: it is tried again.
3. Or have another coordinator lead, of a version that mends it: stop the one that leads. All is tried again then.
4. Report it with rookery capsule, which has what it takes to see it again.
`,
	},
	{
		name: "RookeryPendingTooLong", severity: warning, lasts: pendingFor,
		expr:        "max by (rookery_namespace, rookery_service) (rookery_service_pending_duration_seconds) > 0",
		summary:     "A slot of " + ofTheService + " has found no node for {{ $value | humanizeDuration }}",
		description: "No node can have the next instance of the service. It waits until one can.",
		runbook: `1. Why: rookery explain ` + ofTheService + ` names the filter that removes each node.
2. cpu, memory, disk: rookery nodes shows what is set aside. Add a node, lower the requests in the spec, or scale something down.
3. node-selector, zone, anti-affinity, spread: no node has what the spec wants. Change the spec, or start a node with these labels.
4. silent, degraded, paused, drained: rookery nodes says which. Bring the node back, or have it take instances: rookery drain NODE --undo.
5. ports, host-port, max-per-node: add a node. crashed: it failed there, so rookery logs ` + ofTheService + ` and mend it.
6. volumes: the slot's volumes are on a node that cannot have it now. Mend that one. held: another service has waited longer for that
   room: rookery ps shows which is pending, so help that one first.
7. not-allowed: the cluster has a list of its nodes without that one. no-node: none has joined; start a rookery node.
`,
	},
	{
		name: "RookeryNodeDegraded", severity: warning, lasts: degradedFor,
		expr:        `max by (rookery_node) (rookery_node_state{rookery_state="degraded"}) > 0`,
		summary:     "The engine of " + ofTheNode + " does not answer",
		description: "The node is heard, and its Podman does not answer. What runs there runs on, and nothing new is placed there.",
		runbook: `1. Why: rookery nodes ` + ofTheNode + `.
2. On that host: rookery doctor says what of Podman does not answer; podman ps; df -h.
3. Podman's service hangs: systemctl restart podman.service, or end its process. Containers run on, and the node goes on by itself.
4. It answers slowly and always will: rookery node --answer-timeout 30s on that host.
5. It does not come back: stop the node on that host, and what it had is replaced once it is lost. Then mend the host.
`,
	},
	{
		name: "RookeryNodeSilent", severity: critical, lasts: silentFor,
		expr:        `max by (rookery_node) (rookery_node_state{rookery_state=~"silent|lost"}) > 0`,
		summary:     ofTheNode + " is not heard",
		description: "The node is silent, and was not drained before. What it ran is replaced elsewhere once it is lost.",
		runbook: `1. Since when, and with what: rookery nodes ` + ofTheNode + `; rookery ps.
2. Is its host up? Log in, or start it. What ran there comes up again by itself.
3. Does the node run? On that host: pgrep -af 'rookery node'. Start it where it does not; containers run on without it.
4. Does it reach the bus? On that host: rookery doctor. Mend the network or its credentials.
5. The host is gone for good: rookery forget ` + ofTheNode + `.
`,
	},
	{
		name: "RookeryOperationOverdue", severity: warning, lasts: overdueFor,
		expr: "max by (rookery_namespace, rookery_service, rookery_operation, rookery_phase) (rookery_operation_overdue_seconds) > 0",
		summary: "The {{ $labels.rookery_operation }} of " + ofTheService +
			" is over its deadline in the phase {{ $labels.rookery_phase }}",
		description: "By {{ $value | humanizeDuration }}. Slots do not get through the phase and the others wait, or it is paused and waits for people.",
		runbook: `1. Whom does it wait for? rookery ops ` + ofTheService + `, and the screen "Rookery: operations and barriers".
2. Why is that one not through? rookery ps ` + ofTheService + `; rookery logs ` + ofTheService + `; rookery events ` + ofTheService + `.
3. Mend what it says: the image, the health check, the hook, the node. An update that is paused for it needs the next spec: rookery ensure.
4. Or have the service go back: rookery rollback ` + ofTheService + ` to the revision before, or rookery cancel ` + ofTheService + `.
`,
	},
	{
		name: "RookeryStreamNearBound", severity: critical, lasts: nearBoundFor,
		expr: fullness + " > " + strconv.FormatFloat(nearBound, 'g', -1, 64) + " or label_replace(" +
			accountFullness + " > " + strconv.FormatFloat(nearBound, 'g', -1, 64) + `, "rookery_stream", "The storage of the NATS account", "", "")`,
		summary: "{{ $labels.rookery_stream }} has taken {{ $value | humanizePercentage }} of its bound",
		description: "A full ROOKERY_COMMANDS refuses commands; a full ROOKERY_STATUS loses what nodes said, until they say it again. " +
			"ROOKERY_LOG has no bound but the storage of its account, where that has a limit, and of the server, which is not measured here: " +
			"when that is full nothing is decided any more.",
		runbook: `1. The storage of the account: rookery bus check says how much of it the log takes. Let go of its oldest part: rookery archive --to DIR --keep-age 720h.
   Or raise the account's limit. Go on here where it is a stream.
2. Does a coordinator lead and keep up? The screen "Rookery: coordinator and bus". What is decided goes: commands after a day, or as soon as they take a quarter of ROOKERY_COMMANDS.
3. Who sends so much? nats stream subjects {{ $labels.rookery_stream }} counts messages by subject. Have that sender end, or wait.
4. ROOKERY_STATUS: an instance that restarts all the time says so each time. rookery ps shows which; mend or rookery drop it.
5. Leave the stream as it is: purged it would lose commands, and with another bound, or deleted, the coordinator refuses it.
`,
	},
	{
		name: "RookeryReplicaMissing", severity: critical, lasts: missingFor,
		expr: "max by (rookery_namespace, rookery_service) (rookery_service_desired) - " +
			"max by (rookery_namespace, rookery_service) (rookery_service_online) > 0",
		summary:     ofTheService + " lacks {{ $value }} instances",
		description: "Fewer instances serve, in whatever revision, than shall, and that did not heal.",
		runbook: `1. Which, and why: rookery ps ` + ofTheService + ` says how each instance is.
2. offline with a reason: rookery logs ` + ofTheService + `; rookery events ` + ofTheService + `. Mend the image, the health check or the spec.
3. No instance: rookery explain ` + ofTheService + `.
4. An update is paused or takes long: rookery ops ` + ofTheService + `.
   rookery rollback ` + ofTheService + ` brings the revision before back.
`,
	},
}
