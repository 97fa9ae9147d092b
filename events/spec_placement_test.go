package events

import "testing"

// TestWishesThatBreakARule holds what a spec says of nodes to be refused with its code, its field and words that help.
func TestWishesThatBreakARule(t *testing.T) {
	for _, tt := range []struct {
		fields      string
		code        Code
		field, says string
	}{
		{`"resources":{"memory":"lots"}`, CodeInvalidValue, "resources.memory", "64MiB"},
		{`"resources":{"memory":"64"}`, CodeInvalidValue, "resources.memory", "unit"},
		{`"resources":{"memory":"1MiB"}`, CodeOutOfRange, "resources.memory", "4MiB"},
		{`"resources":{"memory":"2000TiB"}`, CodeOutOfRange, "resources.memory", "1024TiB"},
		{`"resources":{"memroy":"1GiB"}`, CodeUnknownField, "resources.memroy", `"memory"`},
		{`"resources":{"cpu":"half"}`, CodeInvalidValue, "resources.cpu", "500m"},
		{`"resources":{"cpu":"-1"}`, CodeOutOfRange, "resources.cpu", "10000 cores"},
		{`"resources":{"cpu":0.5}`, CodeWrongType, "resources.cpu", "resources.cpu"},
		{`"requests":{"cpu":"2"},"resources":{"cpu":"1"}`, CodeOutOfRange, "requests.cpu", "limit"},
		{`"requests":{"memory":"2GiB"},"resources":{"memory":"1GiB"}`, CodeOutOfRange, "requests.memory", "1GiB"},
		{`"node_selector":{"":"x"}`, CodeInvalidName, "node_selector.", "without a name"},
		{`"node_selectr":{}`, CodeUnknownField, "node_selectr", `"node_selector"`},
		{`"zones":[""]`, CodeInvalidValue, "zones", "zones[0]"},
		{`"anti_affinity":[{"operator":"exists"}]`, CodeMissingField, "anti_affinity[0].label", "name the label"},
		{`"anti_affinity":[{"label":"a","operator":"is"}]`, CodeInvalidValue, "anti_affinity[0].operator", "not-exists"},
		{`"anti_affinity":[{"label":"a","operator":"equal"}]`, CodeOutOfRange, "anti_affinity[0].values", "exactly 1"},
		{`"spread":[{"label":"a","operator":"exists","values":["b"]}]`, CodeOutOfRange, "spread[0].values", "none"},
		{`"spread":[{"label":"a","operator":"in"}]`, CodeOutOfRange, "spread[0].values", "1 to 64"},
		{`"ports":[{"name":"a","port":1,"host_port":9},{"name":"b","port":2,"host_port":9}]`, CodeInvalidValue, "ports[1].host_port", "ports[0]"},
	} {
		t.Run(tt.fields, func(t *testing.T) {
			_, err := ensure(tt.fields)
			wantRejection(t, err, tt.code, tt.field, tt.says)
		})
	}
}

func TestAmountsAreWrittenInOneWay(t *testing.T) {
	for text, want := range map[string]string{"0.5": "500m", "500m": "500m", "2": "2", "2000m": "2", "0.0006": "1m", "1e1": "10"} {
		var c CPU
		if err := c.UnmarshalText([]byte(text)); err != nil || c.String() != want {
			t.Errorf("%s CPU is written as %s (%v), want %s", text, c, err, want)
		}
	}
	for text, want := range map[string]string{
		"1024MiB": "1GiB", "1.5GiB": "1536MiB", "500MB": "500000000B", "0B": "0B", "1KiB": "1KiB", "1kB": "1000B", "1025B": "1025B",
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s.String() != want {
			t.Errorf("%s is written as %s (%v), want %s", text, s, err, want)
		}
	}
}

// TestThePresetIsMaterializes holds each field of the preset to the value that Materialize's orchestrator begins with.
func TestThePresetIsMaterializes(t *testing.T) {
	p := ClusterPolicy{Preset: PresetMaterialize}.Policy()
	for what, is := range map[string]bool{
		"the load is distributed":                       p.Profile == DistributeLoad,
		"spread is on":                                  p.Spread.Enabled,
		"the skew is 1":                                 p.Spread.MaxSkew == 1,
		"spread is hard":                                !p.Spread.Soft,
		"spread leaves services of several alone":       p.Spread.IgnoreScaled,
		"anti-affinity is hard":                         !p.AntiAffinity.Soft,
		"anti-affinity weighs 100":                      p.AntiAffinity.Weight == 100,
		"zone affinity is hard":                         !p.ZoneAffinity.Soft,
		"zone affinity weighs 100":                      p.ZoneAffinity.Weight == 100,
		"a service of several is kept in one zone, 100": p.SameZone == 100,
		"nodes are not evened out":                      p.SameNode == 0,
		"no CPU and no memory by default":               p.Default == Resources{},
		"disk is for those that ask for it":             !p.AlwaysUseDisk,
		"the security context is on":                    p.SecurityContext == "",
		"scratch disk is of 1 GiB":                      DefaultScratch == 1<<30,
	} {
		if !is {
			t.Errorf("not so: %s: %+v", what, p)
		}
	}
}

// TestEachFieldOfThePolicyIsTaken holds what the command says to be what the policy is.
func TestEachFieldOfThePolicyIsTaken(t *testing.T) {
	for body, change := range map[string]func(*Policy){
		`{}`:                                         func(*Policy) {},
		`{"profile":"optimize-utilization"}`:         func(p *Policy) { p.Profile, p.SameNode = OptimizeUtilization, 0 },
		`{"spread":{"enabled":false}}`:               func(p *Policy) { p.Spread.Enabled = false },
		`{"spread":{"max_skew":3,"soft":true}}`:      func(p *Policy) { p.Spread.MaxSkew, p.Spread.Soft = 3, true },
		`{"spread":{"ignore_scaled":false}}`:         func(p *Policy) { p.Spread.IgnoreScaled = false },
		`{"anti_affinity":{"soft":true,"weight":7}}`: func(p *Policy) { p.AntiAffinity = Strictness{true, 7} },
		`{"zone_affinity":{"soft":true,"weight":8}}`: func(p *Policy) { p.ZoneAffinity = Strictness{true, 8} },
		`{"same_zone":7}`:                            func(p *Policy) { p.SameZone = 7 },
		`{"same_node":0}`:                            func(p *Policy) { p.SameNode = 0 },
		`{"preset":"materialize"}`:                   func(p *Policy) { *p = MaterializePolicy() },
		`{"preset":"materialize","same_node":1000}`:  func(p *Policy) { *p = MaterializePolicy(); p.SameNode = 1000 },
		`{"default":{"cpu":"1","memory":"1GiB"}}`:    func(p *Policy) { p.Default = Resources{CPU: Core, Memory: 1 << 30} },
		`{"always_use_disk":true}`:                   func(p *Policy) { p.AlwaysUseDisk = true },
		`{"security_context":"engine"}`:              func(p *Policy) { p.SecurityContext = SecurityEngine },
		`{"security_context":"restricted"}`:          func(*Policy) {},
	} {
		var c ClusterPolicy
		if err := decodeStrict([]byte(body), &c); err != nil {
			t.Fatal(err)
		}
		want := DefaultPolicy()
		change(&want)
		if got := c.Policy(); c.check() != nil || got != want {
			t.Errorf("%s is %+v (%v), want %+v", body, got, c.check(), want)
		}
	}
	var c ClusterPolicy
	if err := decodeStrict([]byte(`{"security_context":"none"}`), &c); err != nil {
		t.Fatal(err)
	}
	wantRejection(t, c.check(), CodeInvalidValue, "security_context", "restricted nor engine")
	wantRejection(t, ClusterPolicy{Preset: "swarm"}.check(), CodeInvalidValue, "preset", "known is materialize")
	wantRejection(t, ClusterPolicy{SameNode: new(NodeWeight(1001))}.check(), CodeOutOfRange, "same_node", "between 0 and 1000")
}
