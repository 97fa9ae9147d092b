package events

import "cmp"

// Policy is how placement weighs nodes and when they are lost, for the whole cluster.
type Policy struct {
	// Profile is distribute-load or optimize-utilization.
	Profile Profile `json:"profile"`
	// Spread keeps instances apart over the zones.
	Spread SpreadPolicy `json:"spread"`
	// AntiAffinity says how strictly the anti-affinity of specs is taken, ZoneAffinity how strictly their zones are.
	AntiAffinity Strictness `json:"anti_affinity"`
	ZoneAffinity Strictness `json:"zone_affinity"`
	// SameZone is what it counts that the instances of a service are in one zone; 0 where that does not count.
	SameZone Weight `json:"same_zone"`
	// SameNode is what a node loses for each instance of the service that it has, in points; 0 where that does not count.
	SameNode NodeWeight `json:"same_node,omitzero"`
	// Default is set aside for an instance whose spec says nothing of it.
	Default Resources `json:"default"`
	// AlwaysUseDisk gives scratch disk to every instance whose spec does not set scratch.
	AlwaysUseDisk bool `json:"always_use_disk,omitzero"`
	// SecurityContext is what containers may do where their spec does not say; empty for restricted.
	SecurityContext SecurityContext `json:"security_context,omitempty"`
	// Liveness says when nodes without heartbeats are silent, and lost.
	Liveness Liveness `json:"liveness,omitzero"`
}

// WithDefaults returns the policy with the defaults of its fields written out, but for silent_after, which goes by the heartbeat.
func (p Policy) WithDefaults() Policy {
	p.SecurityContext = cmp.Or(p.SecurityContext, SecurityRestricted)
	p.Liveness = p.Liveness.WithDefaults()
	return p
}

// SecurityContext is what containers may do where their spec does not say.
type SecurityContext string

// The security contexts.
const (
	SecurityRestricted SecurityContext = "restricted" // no capabilities, and no program gains privileges
	SecurityEngine     SecurityContext = "engine"     // Podman's own defaults, for images that begin as root to become another user
)

// canonical leaves out the default, so that policies from before keep their meaning.
func (c SecurityContext) canonical() SecurityContext {
	if c == SecurityRestricted {
		return ""
	}
	return c
}

// Profile is the first thing that nodes are compared by.
type Profile string

// The profiles.
const (
	DistributeLoad      Profile = "distribute-load"      // the node with the smallest share of its resources taken
	OptimizeUtilization Profile = "optimize-utilization" // the node with the greatest
)

// SpreadPolicy says how evenly instances are spread over the zones.
type SpreadPolicy struct {
	Enabled bool `json:"enabled"`
	// MaxSkew is by how many instances a zone may be ahead of the one with the fewest.
	MaxSkew uint32 `json:"max_skew"`
	// Soft ranks a zone that is further ahead last, instead of excluding it.
	Soft bool `json:"soft"`
	// IgnoreScaled leaves services of a scale above 1 alone.
	IgnoreScaled bool `json:"ignore_scaled"`
}

// Strictness says whether a wish of the spec excludes nodes, or only counts against them.
type Strictness struct {
	Soft bool `json:"soft"`
	// Weight is what a node that does not fit loses where the wish is soft, 1 to 100.
	Weight Weight `json:"weight"`
}

// Weight is what a wish counts, in points.
type Weight uint32

// MaxWeight is the greatest weight, and what the profile's share counts for a node that is empty, or full.
const MaxWeight Weight = 100

// NodeWeight is what it counts that two instances of a service are on one node, in points.
type NodeWeight uint32

const (
	// MaxNodeWeight is the greatest.
	MaxNodeWeight NodeWeight = 1000
	// evenNodes evens out the nodes before the zones, and both before the profile counts: zones and profile lose and gain 100 points.
	evenNodes NodeWeight = 250
)

// DefaultPolicy is what the first round of a log sets: each service is evened out over the nodes first, then over the zones.
func DefaultPolicy() Policy {
	return Policy{
		Profile:      DistributeLoad,
		Spread:       SpreadPolicy{Enabled: true, MaxSkew: 1, Soft: true},
		AntiAffinity: Strictness{Weight: MaxWeight},
		ZoneAffinity: Strictness{Weight: MaxWeight},
		SameNode:     evenNodes,
	}
}

// PolicyPreset is a policy by its name.
type PolicyPreset string

// PresetMaterialize is the policy of Materialize's orchestrator.
const PresetMaterialize PolicyPreset = "materialize"

// MaterializePolicy has the values of Materialize's orchestrator, which keeps the replicas of a service in one zone. It is in force in
// logs that never set another.
func MaterializePolicy() Policy {
	return Policy{
		Profile:      DistributeLoad,
		Spread:       SpreadPolicy{Enabled: true, MaxSkew: 1, IgnoreScaled: true},
		AntiAffinity: Strictness{Weight: MaxWeight},
		ZoneAffinity: Strictness{Weight: MaxWeight},
		SameZone:     MaxWeight,
	}
}

// ClusterPolicy is the command that the cluster has this policy. A field that is missing has its default, or the value of the preset.
type ClusterPolicy struct {
	// Preset is materialize: what is not given is as that orchestrator has it.
	Preset       PolicyPreset `json:"preset,omitzero"`
	Profile      *Profile     `json:"profile,omitzero"`
	Spread       *AskSpread   `json:"spread,omitzero"`
	AntiAffinity *AskStrict   `json:"anti_affinity,omitzero"`
	ZoneAffinity *AskStrict   `json:"zone_affinity,omitzero"`
	SameZone     *Weight      `json:"same_zone,omitzero" jsonschema:"minimum=0,maximum=100"`
	// SameNode is what a node loses for each instance of the service that it has, in points. Default: 250, and 0 with the profile
	// optimize-utilization.
	SameNode *NodeWeight `json:"same_node,omitzero" jsonschema:"minimum=0,maximum=1000"`
	Default  *Resources  `json:"default,omitzero"`
	// AlwaysUseDisk is of instances that are placed from here on.
	AlwaysUseDisk *bool `json:"always_use_disk,omitzero"`
	// SecurityContext is restricted or engine, of instances that are placed from here on.
	SecurityContext *SecurityContext `json:"security_context,omitzero"`
	Liveness        *AskLiveness     `json:"liveness,omitzero"`
}

// AskSpread is SpreadPolicy as a command has it.
type AskSpread struct {
	Enabled      *bool   `json:"enabled,omitzero"`
	MaxSkew      *uint32 `json:"max_skew,omitzero" jsonschema:"minimum=1"`
	Soft         *bool   `json:"soft,omitzero"`
	IgnoreScaled *bool   `json:"ignore_scaled,omitzero"`
}

// AskStrict is Strictness as a command has it.
type AskStrict struct {
	Soft   *bool   `json:"soft,omitzero"`
	Weight *Weight `json:"weight,omitzero" jsonschema:"minimum=1,maximum=100"`
}

// Kind implements Data.
func (ClusterPolicy) Kind() Kind { return v1("cluster", "policy") }

// Policy returns what the command asks for, with every default written out.
func (c ClusterPolicy) Policy() Policy {
	p := DefaultPolicy()
	if c.Preset == PresetMaterialize {
		p = MaterializePolicy()
	}
	set(&p.Profile, c.Profile)
	if p.Profile == OptimizeUtilization {
		p.SameNode = 0 // nodes that are evened out are not filled
	}
	if c.Spread != nil {
		set(&p.Spread.Enabled, c.Spread.Enabled)
		set(&p.Spread.MaxSkew, c.Spread.MaxSkew)
		set(&p.Spread.Soft, c.Spread.Soft)
		set(&p.Spread.IgnoreScaled, c.Spread.IgnoreScaled)
	}
	c.AntiAffinity.set(&p.AntiAffinity)
	c.ZoneAffinity.set(&p.ZoneAffinity)
	set(&p.SameZone, c.SameZone)
	set(&p.SameNode, c.SameNode)
	set(&p.Default, c.Default)
	set(&p.AlwaysUseDisk, c.AlwaysUseDisk)
	set(&p.SecurityContext, c.SecurityContext)
	p.SecurityContext = p.SecurityContext.canonical()
	c.Liveness.set(&p.Liveness)
	p.Liveness = p.Liveness.canonical()
	return p
}

func (a *AskStrict) set(s *Strictness) {
	if a != nil {
		set(&s.Soft, a.Soft)
		set(&s.Weight, a.Weight)
	}
}

func set[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func (c ClusterPolicy) check() error {
	p := c.Policy()
	switch {
	case c.Preset != "" && c.Preset != PresetMaterialize:
		return Reject(CodeInvalidValue, "preset", "preset %s is not known: known is %s; leave it out for the default", quote(string(c.Preset)), PresetMaterialize)
	case p.Profile != DistributeLoad && p.Profile != OptimizeUtilization:
		return Reject(CodeInvalidValue, "profile", "profile %s is neither %s nor %s", quote(string(p.Profile)), DistributeLoad, OptimizeUtilization)
	case p.Spread.MaxSkew == 0:
		return Reject(CodeOutOfRange, "spread.max_skew", "spread.max_skew must be at least 1: switch spread off with enabled")
	case p.SameZone > MaxWeight:
		return Reject(CodeOutOfRange, "same_zone", "same_zone %d is not between 0 and %d", p.SameZone, MaxWeight)
	case p.SameNode > MaxNodeWeight:
		return Reject(CodeOutOfRange, "same_node", "same_node %d is not between 0 and %d", p.SameNode, MaxNodeWeight)
	case p.SecurityContext != "" && p.SecurityContext != SecurityEngine:
		return Reject(CodeInvalidValue, "security_context", "security_context %s is neither %s nor %s",
			quote(string(p.SecurityContext)), SecurityRestricted, SecurityEngine)
	}
	if err := c.Liveness.check(); err != nil {
		return err
	}
	if err := p.AntiAffinity.check("anti_affinity"); err != nil {
		return err
	}
	return p.ZoneAffinity.check("zone_affinity")
}

func (s Strictness) check(field string) error {
	if s.Weight == 0 || s.Weight > MaxWeight {
		return Reject(CodeOutOfRange, field+".weight", "%s.weight %d is not between 1 and %d", field, s.Weight, MaxWeight)
	}
	return nil
}

func (c ClusterPolicy) normal() Command { return c }

// ParseClusterPolicy reads the body of the command as strictly as the coordinator does.
func ParseClusterPolicy(body []byte) (ClusterPolicy, error) {
	var c ClusterPolicy
	if err := decodeStrict(body, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

// PolicyChanged says that placement weighs nodes by this policy from here on.
type PolicyChanged struct {
	Policy
}

// Kind implements Data.
func (PolicyChanged) Kind() Kind { return v1("cluster", "policy-changed") }
