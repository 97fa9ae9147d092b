package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// numbered returns n entries, in each of which # is its number.
func numbered(n int, entry string) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = strings.ReplaceAll(entry, "#", strconv.Itoa(i))
	}
	return strings.Join(entries, ",")
}

// TestSpecsAreTakenUpToTheirLimits sets each field of a spec to its limit, and to one more.
func TestSpecsAreTakenUpToTheirLimits(t *testing.T) {
	entries := func(around, entry string) func(int) string {
		return func(n int) string { return fmt.Sprintf(around, numbered(n, entry)) }
	}
	number := func(format string) func(int) string { return func(n int) string { return fmt.Sprintf(format, n) } }
	bytes := func(format string) func(int) string {
		return func(n int) string { return fmt.Sprintf(format, strings.Repeat("x", n)) }
	}
	seconds := func(d Duration) int { return int(time.Duration(d) / time.Second) }
	const state = `"volumes":[{"name":"v","path":"/v","state":true}],`
	for field, row := range map[string]struct {
		most   int
		fields func(n int) string
	}{
		"args":                   {MaxArguments, entries(`"args":[%s]`, `"#"`)},
		"env":                    {MaxVariables, entries(`"env":{%s}`, `"A#":"x"`)},
		"a value of env":         {MaxText, bytes(`"env":{"A":"%s"}`)},
		"ports":                  {MaxPorts, entries(`"ports":[%s]`, `{"name":"p#","port":1#}`)},
		"labels":                 {MaxLabels, entries(`"labels":{%s}`, `"a#":"x"`)},
		"node_selector":          {MaxLabels, entries(`"node_selector":{%s}`, `"a#":"x"`)},
		"zones":                  {MaxZones, entries(`"zones":[%s]`, `"z#"`)},
		"secrets":                {MaxSecrets, entries(`"secrets":[%s]`, `{"name":"s#"}`)},
		"configs":                {MaxConfigs, entries(`"configs":[%s]`, `{"name":"c#"}`)},
		"devices":                {MaxDevices, entries(`"devices":[%s]`, `{"path":"/dev/d#"}`)},
		"volumes":                {MaxVolumes, entries(`"volumes":[%s]`, `{"name":"v#","path":"/v#"}`)},
		"extra_hosts":            {MaxExtraHosts, entries(`"extra_hosts":[%s]`, `{"name":"h#","address":"10.0.0.1"}`)},
		"sysctls":                {MaxSysctls, entries(`"sysctls":{%s}`, `"net.a#":"1"`)},
		"sidecars":               {MaxSidecars, entries(`"sidecars":[%s]`, `{"name":"c#","image":"i"}`)},
		"stop_grace":             {seconds(MaxStopGrace), number(`"stop_grace":"%ds"`)},
		"drain_delay":            {seconds(MaxDrainDelay), number(`"drain_delay":"%ds"`)},
		"scale":                  {MaxScale, number(`"scale":%d`)},
		"scale with a topology":  {MaxTopologyScale, number(`"topology":{},"scale":%d`)},
		"scale with snapshots":   {MaxSnapshotScale, number(state + `"scale":%d`)},
		"snapshot.every":         {seconds(MaxSnapshotEvery), number(state + `"snapshot":{"every":"%ds"}`)},
		"restart.attempts":       {MaxRestartAttempts, number(`"restart":{"attempts":%d}`)},
		"restart.max_delay":      {seconds(MaxRestartDelay), number(`"restart":{"max_delay":"%ds"}`)},
		"restart.window":         {seconds(MaxRestartDelay), number(`"restart":{"attempts":1,"window":"%ds"}`)},
		"health.retries":         {MaxCheckRetries, number(`"health":{"exec":["a"],"retries":%d}`)},
		"health.interval":        {seconds(MaxCheckInterval), number(`"health":{"exec":["a"],"interval":"%ds"}`)},
		"update.parallelism":     {MaxScale, number(`"update":{"parallelism":%d}`)},
		"update.canaries":        {MaxScale, number(`"update":{"canaries":%d}`)},
		"job.schedule":           {maxSchedule, func(n int) string { return fmt.Sprintf(`"mode":"job","job":{"schedule":"%-*s"}`, n, "* * * * *") }},
		"cpu":                    {int(MaxCPU / Core), number(`"resources":{"cpu":"%d"}`)},
		"resources.memory (TiB)": {int(MaxSize >> 40), number(`"resources":{"memory":"%dTiB"}`)},
	} {
		taken := func(n int) error {
			c, err := ensure(row.fields(n))
			if err == nil && c.Scale != nil {
				err = c.CheckScale(uint32(*c.Scale))
			}
			return err
		}
		if err := taken(row.most); err != nil {
			t.Errorf("%s: %d is refused: %v", field, row.most, err)
		}
		var r *Rejection
		if err := taken(row.most + 1); !errors.As(err, &r) || r.Code != CodeOutOfRange {
			t.Errorf("%s: of %d is said %v, want %s", field, row.most+1, err, CodeOutOfRange)
		}
	}
}

// TestLeastValuesAreTaken sets fields to the least value that they may have.
func TestLeastValuesAreTaken(t *testing.T) {
	for _, fields := range []string{
		`"resources":{"cpu":"0"}`, `"stop_grace":"0s"`, `"drain_delay":"0s"`, `"scale":0`, `"health":{"exec":["a"],"interval":"100ms"}`, `"restart":{"delay":"10ms"}`,
		`"volumes":[{"name":"v","path":"/v","state":true}],"snapshot":{"every":"1m"}`, `"update":{"progress_deadline":"1s","healthy_deadline":"1s","min_healthy":"1s"}`,
		`"update":{"max_failure_ratio":0}`, `"update":{"max_failure_ratio":1}`,
	} {
		if _, err := ensure(fields); err != nil {
			t.Errorf("%s is refused: %v", fields, err)
		}
	}
}

// TestStatusesAreTakenUpToTheirLimits sends statuses of the greatest sizes that nodes may send.
func TestStatusesAreTakenUpToTheirLimits(t *testing.T) {
	h := hello()
	h.Incarnation, h.Address = strings.Repeat("x", MaxName), strings.Repeat("x", maxHostname)
	h.Ports = PortRange{First: 7, Last: 7}
	s := seen()
	s.Message = strings.Repeat("x", MaxMessage)
	s.Exports, s.Images = nil, map[string]string{}
	for i := range MaxVolumes {
		s.Exports = append(s.Exports, Export{Volume: fmt.Sprint("v", i), Digest: strings.Repeat("ab", 32)})
	}
	for i := range MaxImages {
		s.Images[fmt.Sprint("w", i)] = "w@sha256:1"
	}
	l := InstanceList{Instances: make([]InstanceState, MaxListed)}
	for i := range l.Instances {
		l.Instances[i] = seen().InstanceState
	}
	for _, m := range []Message{
		status(t, HelloSubject("n1"), h), status(t, InstanceStatusSubject("n1", web41), s), status(t, ListSubject("n1"), l),
		status(t, EngineSubject("n1"), EngineStatus{Degraded: strings.Repeat("x", MaxMessage)}),
	} {
		if _, err := ParseStatus(m); err != nil {
			t.Errorf("%s is refused: %v", m.Subject, err)
		}
	}
	h.Address += "x"
	_, err := ParseStatus(status(t, HelloSubject("n1"), h))
	wantRejection(t, err, CodeOutOfRange, "address", "254 bytes")
	h.Address = "no address"
	_, err = ParseStatus(status(t, HelloSubject("n1"), h))
	wantRejection(t, err, CodeInvalidValue, "address", "address")
	s.Exports = append(s.Exports, s.Exports[0])
	_, err = ParseStatus(status(t, InstanceStatusSubject("n1", web41), s))
	wantRejection(t, err, CodeOutOfRange, "exports", "65 entries")
	s = seen()
	s.Images = map[string]string{"web:1": "two words@sha256:1"}
	_, err = ParseStatus(status(t, InstanceStatusSubject("n1", web41), s))
	wantRejection(t, err, CodeInvalidValue, "images.web:1", "images.web:1", "two words")
}

// TestAttributesAreTakenUpToTheirLimit names a command in an envelope with as many bytes as it may have.
func TestAttributesAreTakenUpToTheirLimit(t *testing.T) {
	id := strings.Repeat("x", MaxAttribute)
	m := binary(scaleSubject, "io.rookery.service.v1.scale", `{"scale":5}`)
	if r := ParseRequest(with(m, "ce-id", id)); r.Rejection != nil || r.ID != id {
		t.Errorf("an id of %d bytes is refused: %v", len(id), r.Rejection)
	}
	if r := ParseRequest(with(m, "ce-id", id+"x")); r.Rejection == nil || r.Rejection.Code != CodeOutOfRange {
		t.Errorf("an id of %d bytes is taken: %v", len(id)+1, r.Rejection)
	}
}

// TestAttributesThatNothingReadsAreCheckedAllTheSame names a schema in an envelope: no command needs one, but it must be an address.
func TestAttributesThatNothingReadsAreCheckedAllTheSame(t *testing.T) {
	m := binary(scaleSubject, "io.rookery.service.v1.scale", `{"scale":5}`)
	for schema, taken := range map[string]bool{"https://example.org/scale.json": true, "::": false} {
		if r := ParseRequest(with(m, "ce-dataschema", schema)); (r.Rejection == nil) != taken {
			t.Errorf("with the schema %s it says %v, want it taken: %t", schema, r.Rejection, taken)
		}
	}
}
