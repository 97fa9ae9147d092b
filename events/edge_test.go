package events

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestNodesAreAllowedUpToTheLimit sends a list of allowed nodes that meets its limit, and one that exceeds it by one.
func TestNodesAreAllowedUpToTheLimit(t *testing.T) {
	for n, want := range map[int]string{MaxAllowedNodes: "", MaxAllowedNodes + 1: fmt.Sprintf("allowed has %d entries", MaxAllowedNodes+1)} {
		r := ParseRequest(bare(CommandRoot+".cluster.nodes", fmt.Sprintf(`{"allowed":[%s]}`, numbered(n, `"n#"`))))
		if got := r.Rejection; (got == nil) != (want == "") || (got != nil && !strings.Contains(got.Reason, want)) {
			t.Errorf("%d nodes: %v, want %q", n, got, want)
		}
	}
}

func TestAnAnswerMayBeAsLongAsAMessage(t *testing.T) {
	for n, taken := range map[int]bool{MaxMessage: true, MaxMessage + 1: false} {
		c := Confirmation{Operation: 1, Phase: OperationRelease, Refused: strings.Repeat("x", n)}
		if err := c.check(); (err == nil) != taken {
			t.Errorf("a refusal of %d bytes: %v", n, err)
		}
	}
}

func TestEventsAboutACommandNameIt(t *testing.T) {
	for _, outcome := range []Outcome{CommandQueued{Sequence: 9, Behind: 8}, CommandRepeated{Sequence: 9, Of: 3}, CommandFailed{Sequence: 9}} {
		if outcome.CommandSequence() != 9 {
			t.Errorf("%T is about command %d, want 9", outcome, outcome.CommandSequence())
		}
	}
}

func TestAGroupHasItsSubject(t *testing.T) {
	subject := GroupSubject(GroupID{Namespace: "demo", Name: "stack"}, "cancel")
	if r := ParseRequest(bare(subject, `{}`)); r.Rejection != nil || r.Scope != GroupScope(GroupID{Namespace: "demo", Name: "stack"}) {
		t.Errorf("%s reads as %v, %v", subject, r.Scope, r.Rejection)
	}
}

// TestWhatIsEmptyMeansNothing holds specs with and without empty lists to one hash.
func TestWhatIsEmptyMeansNothing(t *testing.T) {
	for name, specs := range map[string][2]Spec{
		"health.exec": {
			{Image: "i", HealthSpec: HealthSpec{Health: &Health{HTTP: &HTTPCheck{Port: "http"}}}},
			{Image: "i", HealthSpec: HealthSpec{Health: &Health{HTTP: &HTTPCheck{Port: "http"}, Exec: []string{}}}},
		},
		"sysctls": {{Image: "i"}, {Image: "i", NetworkSpec: NetworkSpec{Sysctls: map[string]string{}}}},
		"sidecars.env": {
			{Image: "i", SidecarSpec: SidecarSpec{Sidecars: []Sidecar{{Name: "a", Image: "i"}}}},
			{Image: "i", SidecarSpec: SidecarSpec{Sidecars: []Sidecar{{Name: "a", Image: "i", Env: map[string]string{}}}}},
		},
	} {
		if specs[0].Hash() != specs[1].Hash() {
			t.Errorf("%s: another hash where it is empty", name)
		}
	}
	spec := Spec{Image: "i", SecretSpec: SecretSpec{Secrets: []Secret{{Name: "key"}}}}
	if spec.Hash(); spec.Secrets[0].Path != "" {
		t.Errorf("hashing changed the spec: %+v", spec.Secrets)
	}
}

// TestRequestsMayMeetTheLimits sends each request as large as its limit, and larger.
func TestRequestsMayMeetTheLimits(t *testing.T) {
	for fields, field := range map[string]string{
		`"requests":{"cpu":"1","memory":"64MiB","disk":"1GiB"},"resources":{"cpu":"1","memory":"64MiB","disk":"1GiB"}`: "",
		`"requests":{"cpu":"2"},"resources":{"cpu":"1"}`:                                                               "requests.cpu",
		`"requests":{"memory":"65MiB"},"resources":{"memory":"64MiB"}`:                                                 "requests.memory",
	} {
		r := ParseRequest(bare(CommandRoot+".service.demo.web.ensure", `{"image":"i",`+fields+`}`))
		if got := r.Rejection; (got == nil) != (field == "") || (got != nil && got.Field != field) {
			t.Errorf("%s: %v, want %q", fields, got, field)
		}
	}
}

func TestAnExclusiveInstanceMayHaveTheLeastWindow(t *testing.T) {
	s := ExclusiveSpec{Exclusive: true}
	for window, taken := range map[Duration]bool{MinWindow: true, MinWindow - 1: false} {
		if err := s.check(ModeReplicated, Disconnect{LostAfter: window, Reconcile: ReconcileLongestRunning}); (err == nil) != taken {
			t.Errorf("a window of %v: %v", window, err)
		}
	}
}

func TestWhatThereIsIsNamedUpToAPoint(t *testing.T) {
	names := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("zone-%04d", i))
		}
		return all
	}
	for n, want := range map[int]string{
		0:            "there is no node x, nor any other node",
		5:            "there is no node x: there are zone-0000, zone-0001, zone-0002, zone-0003, zone-0004",
		7:            "there is no node x: there are zone-0000, zone-0001, zone-0002, zone-0003, zone-0004 and 2 more",
		MostNear:     fmt.Sprintf("there is no node x: there are zone-0000, zone-0001, zone-0002, zone-0003, zone-0004 and %d more", MostNear-5),
		MostNear + 1: "there is no node x",
	} {
		if got := NoSuch("node", "x", names(n)); got != want {
			t.Errorf("of %d: %s, want %s", n, got, want)
		}
	}
}

func TestOverridesStandInPlaceOfFacts(t *testing.T) {
	facts := NodeFacts{Capacity: Capacity{CPU: 2, Memory: 1 << 30, Disk: 1 << 40}}
	o := Overrides{Capacity: Resources{CPU: 4 * Core, Memory: 2 << 30, Disk: 2 << 40}}
	if got, want := o.Of(facts).Capacity, (Capacity{CPU: 4, Memory: 2 << 30, Disk: 2 << 40}); got != want {
		t.Errorf("with all overridden it has %+v, want %+v", got, want)
	}
	if got := (Overrides{}).Of(facts).Capacity; got != facts.Capacity {
		t.Errorf("without overrides it has %+v, want %+v", got, facts.Capacity)
	}
}

func TestACommandOfNothingIsNotExecuted(t *testing.T) {
	for body, reads := range map[string]bool{
		`{"command":["/web"]}`: true, `{"command":[""]}`: false, `{"command":[]}`: false, fmt.Sprintf(`{"command":[%s]}`, numbered(MaxExecWords, `"a"`)): true,
		fmt.Sprintf(`{"command":[%s]}`, numbered(MaxExecWords+1, `"a"`)): false,
	} {
		if _, err := ParseExecRequest([]byte(body)); (err == nil) != reads {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestScopesComeBackAsTheyWere(t *testing.T) {
	for _, s := range []Scope{
		ClusterScope, RoundScope, NodeScope("n1"), ServiceScope(ServiceID{Namespace: "demo", Name: "web"}), GroupScope(GroupID{Namespace: "demo", Name: "stack"}),
	} {
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Scope
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%s comes back as %#v, %v; want %#v", text, back, err, s)
		}
	}
}

func TestEachOperatorOfASelector(t *testing.T) {
	labels := map[string]string{"disk": "ssd"}
	for _, tt := range []struct {
		operator Operator
		label    string
		values   []string
		matches  bool
	}{
		{OpEqual, "disk", []string{"ssd"}, true},
		{OpEqual, "zone", []string{"ssd"}, false},
		{OpNotEqual, "disk", []string{"ssd"}, false},
		{OpNotEqual, "zone", []string{"ssd"}, true},
		{OpIn, "disk", []string{"hdd", "ssd"}, true},
		{OpNotIn, "disk", []string{"hdd", "ssd"}, false},
		{OpNotIn, "disk", []string{"hdd"}, true},
		{OpExists, "disk", nil, true},
		{OpNotExists, "disk", nil, false},
		{OpNotExists, "zone", nil, true},
	} {
		if got := (Selector{Label: tt.label, Operator: tt.operator, Values: tt.values}).Matches(labels); got != tt.matches {
			t.Errorf("%s %s %v: %t", tt.label, tt.operator, tt.values, got)
		}
	}
}

func TestInstancesAreInOneOrder(t *testing.T) {
	id := func(name string, ordinal, generation uint32) InstanceID {
		return InstanceID{Service: ServiceID{Namespace: "demo", Name: name}, Ordinal: ordinal, Generation: generation}
	}
	sorted := []InstanceID{id("a", 0, 1), id("a", 0, 2), id("a", 1, 1), id("b", 0, 1)}
	mixed := []InstanceID{sorted[2], sorted[0], sorted[3], sorted[1]}
	slices.SortFunc(mixed, InstanceID.Compare)
	if !reflect.DeepEqual(mixed, sorted) || sorted[1].Compare(id("a", 0, 2)) != 0 {
		t.Errorf("they are in the order %v, want %v", mixed, sorted)
	}
}
