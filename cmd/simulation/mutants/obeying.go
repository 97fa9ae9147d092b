package main

// obeying has the bugs of nodes.
var obeying = []mutant{
	{
		"stale-order-obeyed", "a node obeys an order that stands before the one it has", []edit{{
			"node/runner/orders.go", "if in := a.instance(o.id); o.sequence >= in.sequence {", "if in := a.instance(o.id); in != nil {",
		}},
	},
	{
		"missed-order-not-noticed", "an order that does not follow the last has nothing read again", []edit{{
			"node/runner/orders.go", "return o.order.Counter > a.counter+1", "return o.order.Counter > a.counter+1 && !a.began",
		}},
	},
	{
		"heartbeat-shows-no-order", "a heartbeat that tells of further orders has nothing read again", []edit{{
			"node/runner/heartbeat.go", "if answer.Orders != a.counter || a.reading.stale {", "if a.reading.stale {",
		}},
	},
	{
		"stopped-without-order", "a container of which the node has no order yet is stopped", []edit{{
			"node/view.go", "// it turned up while an order to stop held, which nobody takes back\n		}\n	}\n",
			`
		}
	case "":
		if v.Container != nil {
			return v.nextStop(now)
		}
	}
`,
		}},
	},
	{
		"absence-stops", "a container whose order does not stand in the stream is stopped", []edit{{
			"node/runner/orders.go", "	a.counter = max(a.counter, r.reaches) //",
			`	for _, in := range a.instances {
		if in.sequence == 0 {
			a.ordered(ctx, in, events.Order{Action: events.ActionStop, Log: a.owner.Cluster})
		}
	}
	a.counter = max(a.counter, r.reaches) //`,
		}},
	},
	{
		"containers-not-adopted", "a node passes the containers that it finds and has no order for", []edit{{
			"node/runner/look.go", "	for i, c := range containers {\n",
			"	for i, c := range containers {\n		if a.instances[c.Instance] == nil {\n			continue\n		}\n",
		}},
	},
	{
		"engine-looked-at-once", "a node never looks again at what its engine has", []edit{{
			"node/runner/look.go", "		a.alarms[alarmLook] = s.began.Add(lookEvery)\n", "		a.alarms[alarmLook] = time.Time{}\n",
		}},
	},
	{
		"over-disk-tolerated", "an instance that takes more of the disk than its limit runs on", []edit{{
			"node/runner/look.go", "		a.measure(ctx)\n", "",
		}},
	},
	{
		"config-of-first-read", "a node gives each container a config as it was when it read that first", []edit{
			{"node/runner/configs.go", "import (\n", "import (\n	\"sync\"\n"},
			{
				"node/runner/configs.go", "	e, err := a.readConfig(call, key)\n",
				`	e, err := a.readConfig(call, key)
	if err == nil {
		first, _ := firstRead.LoadOrStore(fmt.Sprintf("%p", a)+key, e)
		e = first.(bus.Entry)
	}
`,
			},
			{"node/runner/configs.go", "func (a *Agent) readConfig(", "var firstRead sync.Map\n\nfunc (a *Agent) readConfig("},
		},
	},
	{
		"config-of-any-namespace", "a node reads configs of one namespace for the services of all", []edit{{
			"node/runner/configs.go", "events.ConfigKey(v.Instance.Service.Namespace, c.Name)", "events.ConfigKey(\"demo\", c.Name)",
		}},
	},
	{
		"config-told", "a node says with which configs it could not make a container", []edit{
			{"node/runner/steps.go", "	return a.Engine.Prepare(ctx, node.Plan{\n", "	made, err := a.Engine.Prepare(ctx, node.Plan{\n"},
			{
				"node/runner/steps.go", "Images: v.PlanImages(), Configs: configs, Topology: v.Document(),\n	})\n",
				`Images: v.PlanImages(), Configs: configs, Topology: v.Document(),
	})
	if err != nil {
		err = errors.Join(err, errors.New(string(bytes.Join(slices.Collect(maps.Values(configs)), nil))))
	}
	return made, err
`,
			},
			{"node/runner/steps.go", "import (\n", "import (\n	\"bytes\"\n	\"maps\"\n"},
		},
	},
	{
		"stopped-unasked", "a node stops an instance without the hook that comes before", []edit{{
			"node/view.go", "case v.Container.runs() && v.mustMakeReady():", "case v.Container.runs() && v.mustMakeReady() && v.Attempt > 99:",
		}},
	},
	{
		"stopped-unasked-by-the-next", "a node's process that begins anew knows nothing of the hook that comes before a stop", []edit{{
			"node/before_stop.go", "c.BeforeStop != nil && ", "c.BeforeStop != nil && v.Order.Spec != nil && ",
		}},
	},
	{
		"asked-without-end", "a node waits for a hook before a stop as long as that takes", []edit{{
			"node/runner/steps.go", "return v.AskWithin()", "return v.AskWithin() + 24*time.Hour",
		}},
	},
	{
		"output-not-kept", "what a container that failed has printed is not kept", []edit{{
			"node/output.go", "	return *v.Container, true\n", "	return *v.Container, false\n",
		}},
	},
	{
		"output-referred-unkept", "a node refers to what a container printed where that could not be kept", []edit{{
			"node/runner/output.go", "			if kept {\n", "			if kept || err != nil {\n",
		}},
	},
	{
		"output-told", "a node says what a container has printed", []edit{
			{
				"node/runner/output.go", "		kept, err := a.keep(call, c, key)\n",
				"		lines, _ := a.Engine.Output(call, c)\n		kept, err := a.keep(call, c, key)\n",
			},
			{"node/runner/output.go", "			if kept {\n", "			in.told[0].Message += string(lines)\n			if kept {\n"},
		},
	},
	{
		"status-lost", "a status that could not be published is not published again", []edit{{
			"node/runner/publisher.go", "			p.queue = slices.Insert(p.queue, 0, next)\n", "			p.queue = slices.Clip(p.queue)\n",
		}},
	},
}
