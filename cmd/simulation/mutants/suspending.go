package main

// suspending has the bugs of services that are suspended and come back.
var suspending = []mutant{
	{
		"rests-without-a-snapshot", "what a service holds is not kept before it rests", []edit{{
			"coordinator/phases.go", "if !s.Current().Spec.Snapshots() || s.Span() == 0 {", "if s.Suspension != nil {",
		}},
	},
	{
		"placed-while-it-rests", "a service that rests gets instances", []edit{
			{"coordinator/look.go", "	if s.Resting() {\n		return t.retireFrom(s, 0, events.RetireSuspended)\n	}\n	return t.swap(s)", "	return t.swap(s)"},
			{"projections/job.go", " || s.Resting():", ":"},
		},
	},
	{
		"filled-at-home", "volumes that a slot finds on its node are filled all the same", []edit{{
			"projections/suspension.go", "stays := !r.Named && !slot.Placed && s.Homes", "stays := r.Resumed == 0 && s.Homes",
		}},
	},
	{
		"filled-once-more", "volumes are filled although an instance has written to them since", []edit{{
			"projections/suspension.go", "(i.Seen.Phase == events.PhaseStarted || i.Seen.Phase == events.PhaseOnline)", "i.Seen.Phase == events.PhaseCompleted",
		}},
	},
	{
		"filled-with-the-last", "a snapshot is named, and the last one fills the volumes", []edit{{
			"projections/suspension.go", "	if version == 0 {\n		version = taken", "	if taken > 0 {\n		version = taken",
		}},
	},
	{
		"scale-of-before", "a snapshot is named, and the scale stays as it was", []edit{{
			"coordinator/suspend.go", "append(scaled(s, kept.Scale), events.ServiceResumed", "append(scaled(s, s.Scale), events.ServiceResumed",
		}},
	},
	{
		"taken-while-it-rests", "a service that rests is scaled, restarted and revised", []edit{{
			"coordinator/suspend.go", "s.Suspension == nil || s.Dropped {", "s.Suspension == nil || s.Holder == 0 {",
		}},
	},
	{
		"given-up-and-suspended", "a suspension that failed before anything went is wanted still", []edit{{
			"coordinator/suspend.go", "	t.failCommand(s, events.ReasonSuspendFailed, message)\n	t.goOn(s)\n", "	t.failCommand(s, events.ReasonSuspendFailed, message)\n",
		}},
	},
	{
		"rests-before-all-is-gone", "a service is said to rest while its instances go", []edit{{
			"projections/verdict.go", "if slot.Current == nil && !slices.ContainsFunc(slot.Leaving, remains) {", "if _ = remains; slot.Current == nil {",
		}},
	},
	{
		"leaves-volumes-behind", "a slot comes elsewhere although not all that it holds was kept", []edit{{
			"projections/suspension.go", "v.Kind == events.VolumeNamed && (!v.State || !slices.", "v.Kind == events.VolumeNamed && (v.State && !slices.",
		}},
	},
	{
		"anywhere-but-home", "a slot comes elsewhere although its node could have it", []edit{{
			"coordinator/placement/home.go", "s.Roams(ordinal) && !q.couldAtHome(home, held)", "s.Roams(ordinal)",
		}},
	},
	{
		"lost-as-it-went", "what ends as a service goes takes its part of the snapshot along", []edit{{
			"projections/snapshot.go", "kept.Volumes, s.Operation.Exports = s.Operation.Exports, nil", "kept.Volumes = s.Operation.Exports",
		}},
	},
	{
		"snapshots-of-nothing", "snapshots of a service that rests are due", []edit{{
			"projections/snapshot.go", "if s.Dropped || s.Suspension != nil || rules == nil {", "if s.Dropped || rules == nil {",
		}},
	},
	{
		"told-while-it-goes", "instances that go are told of each other", []edit{{
			"coordinator/rescale.go", "s.Current().Spec.Topology == nil || s.Resting() {", "s.Current().Spec.Topology == nil {",
		}},
	},
	{
		"told-of-no-snapshot", "instances are not told which snapshot they come from", []edit{{
			"projections/suspension.go", "if r := s.Resumption; r != nil && (r.Named || r.Filled) {", "if r := s.Resumption; r != nil && r.Resumed == 0 {",
		}},
	},
	{
		"rescaled-as-it-comes-back", "a service comes back in another scale by a rescale among slots that are empty", []edit{{
			"projections/suspension.go", "	if s.Rescales() {\n		s.Topology", "	if s.Rescales() && s.total > 0 {\n		s.Topology",
		}},
	},
	{
		"volume-filled-again", "a volume is filled with every container that is made under the order", []edit{{
			"node/restore.go", "	return marked || labels[", "	return marked || f.Volume != \"\" || labels[",
		}},
	},
	{
		"starts-without-what-was-kept", "volumes of some instances are not filled", []edit{{
			"node/restore.go", "v.Name == e.Volume {", "v.Name == e.Volume && p.Instance.Generation%7 > 0 {",
		}},
	},
	{
		"filled-in-part", "a volume that was filled in part passes for one that is full", []edit{{
			"node/restore.go", "	return marked || labels[", "	return (marked && f.Volume == \"\") || labels[",
		}},
	},
}
