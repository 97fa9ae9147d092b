package main

// writing has the bugs of storing rounds in the log.
var writing = []mutant{
	{
		"no-fence", "a round is appended wherever the log ends, and not behind the leader's last one", []edit{{
			"coordinator/runner/commit.go",
			"	last, err := l.Bus.Append(call, bus.Log, l.closed, messages)\n",
			`	end, err := l.Bus.State(call, bus.Log)
	if err != nil {
		return 0, err
	}
	last, err := l.Bus.Append(call, bus.Log, end.Last, messages)
`,
		}},
	},
	{
		"epoch-used-again", "a leader that takes over writes in the epoch of the one before", []edit{{
			"coordinator/runner/takeover.go", "epoch := f.fold.Cluster.Epoch + 1", "epoch := max(f.fold.Cluster.Epoch, 1)",
		}},
	},
	{
		"cursor-behind-round", "a round closes with the cursor of the round before", []edit{{
			"coordinator/runner/commit.go", "Commands: l.cursors.commands, ", "Commands: l.cluster.CommandCursor, ",
		}},
	},
	{
		"cursor-ahead-of-round", "a round closes with a cursor one beyond its last command", []edit{{
			"coordinator/runner/commit.go", "Commands: l.cursors.commands, ", "Commands: l.cursors.commands + 1, ",
		}},
	},
	{
		"unknown-taken-as-stored", "an append whose answer is lost is taken for stored, and nobody reads the log", []edit{{
			"coordinator/runner/commit.go",
			"	case errors.Is(err, bus.ErrPosition) || errors.Is(err, bus.ErrUnknown):\n",
			`	case errors.Is(err, bus.ErrUnknown):
		return l.closed + uint64(len(messages)), nil
	case errors.Is(err, bus.ErrPosition):
`,
		}},
	},
	{
		"unknown-asked-once-more", "an append whose answer is lost is sent again at the log's end", []edit{{
			"coordinator/runner/commit.go",
			"	if errors.Is(cause, bus.ErrPosition) {\n		return 0, fmt.Errorf(\"%w: %w\", errLost, cause)\n",
			`	if ok {
		return l.Bus.Append(call, bus.Log, m.Sequence, messages)
`,
		}},
	},
	{
		"torn-end-left-open", "a leader that takes over does not void the beginning of a torn round", []edit{{
			"coordinator/runner/takeover.go",
			"	if err := c.closeTorn(ctx, f, epoch); err != nil {\n		return nil, err\n	}\n", "",
		}},
	},
	{
		"clock-unchecked", "a coordinator leads whatever its clock says", []edit{
			{
				"coordinator/runner/lease.go",
				`	if err := c.checkClock(ctx, newClock(c.Now())); err != nil {
		l.release(ctx)
		return nil, err
	}
`, "",
			},
			{"coordinator/runner/lead.go", "l.checkClock(l.ctx, l.clock)", "l.ctx.Err()"},
		},
	},
}
