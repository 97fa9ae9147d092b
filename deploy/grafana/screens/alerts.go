package screens

import (
	"bytes"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// From when on a person is called. What heals by itself has healed before.
const (
	noLeaderFor  = time.Minute // another coordinator takes over within seconds
	lagSeconds   = 10          // messages are decided within milliseconds
	lagFor       = 30 * time.Second
	pendingFor   = 5 * time.Minute // what makes room may be under way
	degradedFor  = 2 * time.Minute // an engine is asked again every few seconds
	silentFor    = time.Minute
	overdueFor   = time.Minute // the coordinator acts on a deadline by itself
	nearBound    = 0.8
	nearBoundFor = 5 * time.Minute
	missingFor   = 15 * time.Minute // an update in waves may take that long
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

var alerts = []alert{
	{
		name: "RookeryNoLeader", severity: critical, lasts: noLeaderFor,
		expr:        `(sum(rookery_coordinator_role{rookery_role="leader"}) or vector(0)) < 1`,
		summary:     "No coordinator leads",
		description: "What runs goes on running, and nothing is decided: commands wait, and what fails or is lost is not replaced.",
		runbook: `1. Is a coordinator running? On its hosts: systemctl status rookery-coordinator; start it where it is not.
2. Can it reach the bus? rookery doctor, and nats server check jetstream. Start NATS where it is down, and make room where its disk is full.
3. It runs and does not lead? Its log says why: journalctl -u rookery-coordinator -n 50. Where it says that a stream is another
   one: rookery bus check, and rookery bus adopt once you know that the stream is the right one. Where its clock is off: chronyc tracking.
4. Does Prometheus reach the coordinators? Without that, nobody is seen to lead.
`,
	},
	{
		name: "RookeryCoordinatorLag", severity: warning, lasts: lagFor,
		expr:        "max by (rookery_stream) (rookery_coordinator_lag_duration_seconds) > " + strconv.Itoa(lagSeconds),
		summary:     "Messages of {{ $labels.rookery_stream }} wait for {{ $value | humanizeDuration }}",
		description: "The coordinator does not keep up with what people ask or nodes see. It is decided late, and not lost.",
		runbook: `1. Look at the screen "Rookery: coordinator and bus": is it deciding or appending that takes long?
2. Appending: the disk of NATS is slow or full. nats server report jetstream; iostat -x 1 on its host.
3. Deciding: is the host short of CPU? top on the host of the coordinator that leads.
4. Too many inputs: who sends them? nats sub 'rookery.cmd.>' --count 50, and nats sub 'rookery.status.>' --count 50.
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
4. silent, degraded, paused, drained: rookery nodes says which. Bring the node back, or rookery drain NODE --undo.
`,
	},
	{
		name: "RookeryNodeDegraded", severity: warning, lasts: degradedFor,
		expr:        `sum by (rookery_state) (rookery_nodes{rookery_state="degraded"}) > 0`,
		summary:     "{{ $value }} nodes have an engine that does not answer",
		description: "The node is heard, and its Podman does not answer. What runs there runs on; nothing new is placed there, and nothing is stopped.",
		runbook: `1. Which: rookery nodes shows it as degraded, and says why.
2. On that host: rookery doctor; systemctl status podman.socket podman.service; podman info; df -h.
3. Restart Podman's service where it hangs: systemctl restart podman.service. Containers run on.
4. It cannot be had back soon? rookery drain NODE once it answers, or have its host replaced.
`,
	},
	{
		name: "RookeryNodeSilent", severity: critical, lasts: silentFor,
		expr:        `sum by (rookery_state) (rookery_nodes{rookery_state=~"silent|lost"}) > 0`,
		summary:     "{{ $value }} nodes are {{ $labels.rookery_state }}",
		description: "Nodes are not heard. What they ran is replaced elsewhere once they are lost.",
		runbook: `1. Which: rookery nodes.
2. Is the host up? Log in. Is the node running? systemctl status rookery-node; journalctl -u rookery-node -n 50.
3. Does it reach the bus? On the host: rookery doctor.
4. The host is gone for good? rookery forget NODE, and what ran there has its place elsewhere.
`,
	},
	{
		name: "RookeryOperationOverdue", severity: warning, lasts: overdueFor,
		expr: "max by (rookery_namespace, rookery_service, rookery_operation, rookery_phase) (rookery_operation_overdue_seconds) > 0",
		summary: "The {{ $labels.rookery_operation }} of " + ofTheService +
			" is over its deadline in the phase {{ $labels.rookery_phase }}",
		description: "By {{ $value | humanizeDuration }}. Slots of the service do not get through the phase, and the others wait for them.",
		runbook: `1. Whom does it wait for? The screen "Rookery: operations and barriers", and rookery ps ` + ofTheService + `.
2. Why is that one not through? rookery logs ` + ofTheService + `; rookery events ` + ofTheService + `.
3. Mend what it says: the image, the health check, the hook, the node.
4. Or have the service go back to what it was: rookery cancel ` + ofTheService + `.
`,
	},
	{
		name: "RookeryStreamNearBound", severity: critical, lasts: nearBoundFor,
		expr: `max by (rookery_stream) (rookery_stream_size_bytes{rookery_stream!="ROOKERY_METRICS"}) / ` +
			`(max by (rookery_stream) (rookery_stream_limit_bytes) > 0) > ` + strconv.FormatFloat(nearBound, 'g', -1, 64),
		summary:     "{{ $labels.rookery_stream }} has taken {{ $value | humanizePercentage }} of its bound",
		description: "Once it is full, commands are refused, and what nodes say is lost until they say it again.",
		runbook: `1. Does a coordinator lead, and keep up? The screen "Rookery: coordinator and bus". What is decided is removed by it.
2. Who sends so much? nats stream subjects {{ $labels.rookery_stream }}.
3. Give it more room: nats stream edit {{ $labels.rookery_stream }} --max-bytes=1GB.
`,
	},
	{
		name: "RookeryReplicaMissing", severity: critical, lasts: missingFor,
		expr: "max by (rookery_namespace, rookery_service) (rookery_service_desired) - " +
			"max by (rookery_namespace, rookery_service) (rookery_service_online) > 0",
		summary:     ofTheService + " lacks {{ $value }} instances",
		description: "Fewer instances serve in the current revision than shall, and that did not heal.",
		runbook: `1. Which, and why: rookery ps ` + ofTheService + ` says how each instance is.
2. offline with a reason: rookery logs ` + ofTheService + `; rookery events ` + ofTheService + `. Mend the image, the health check or the spec.
3. No instance: rookery explain ` + ofTheService + `.
4. Is an update paused or slow? The screen "Rookery: operations and barriers". rookery rollback ` + ofTheService + ` brings the one before back.
`,
	},
}

// ruleFile is Prometheus's form of rules.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func rules() ([]byte, error) {
	group := ruleGroup{Name: tag}
	for _, a := range alerts {
		group.Rules = append(group.Rules, rule{
			Alert: a.name, Expr: a.expr, For: prometheusDuration(a.lasts),
			Labels:      map[string]string{"severity": string(a.severity)},
			Annotations: map[string]string{"summary": a.summary, "description": a.description, "runbook": a.runbook},
		})
	}
	var b bytes.Buffer
	b.WriteString("# Written by make dashboards from deploy/grafana/screens/alerts.go.\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(ruleFile{Groups: []ruleGroup{group}})
	return b.Bytes(), err
}

// prometheusDuration is written in seconds, or in minutes where it is whole ones.
func prometheusDuration(d time.Duration) string {
	if d%time.Minute == 0 {
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return strconv.Itoa(int(d/time.Second)) + "s"
}
