package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ownUnits is where a host has units that no package has installed.
	ownUnits = "/etc/systemd/system"
	// staysFor is how long a unit must run to count as started, and startsIn how long that may take.
	staysFor, startsIn = 3 * time.Second, time.Minute
	askAgain           = 200 * time.Millisecond
)

// hasSystemd is the step of a host that runs systemd. Advice is for one that does not.
func hasSystemd(advice string) Step {
	return Step{Name: "systemd", Has: func(context.Context) (bool, error) {
		if _, err := os.Stat("/run/systemd/system"); err != nil {
			return false, fmt.Errorf("it does not run this host: %w: %s", err, advice)
		}
		return true, nil
	}}
}

// Unit returns the name of the unit of a part of a cluster.
func Unit(part string) string { return "rookery-" + part + ".service" }

// OwnUnit returns the path of the unit of a part where no package has installed it.
func OwnUnit(part string) string { return filepath.Join(ownUnits, Unit(part)) }

// starts are the steps after which a unit runs this program, since the files that it reads were last changed, and with each start of the host.
func starts(part, program string, files []string) []Step {
	unit := Unit(part)
	return []Step{
		{
			unit + " is enabled",
			func(ctx context.Context) (bool, error) { return enabled(ctx, unit), nil },
			func(ctx context.Context) error { return reloaded(ctx, "enable", "--quiet", unit) },
		},
		{
			unit + " is started",
			func(ctx context.Context) (bool, error) {
				now, err := stateOf(ctx, unit)
				return now.runs(program, files), err
			},
			func(ctx context.Context) error { return reloaded(ctx, "restart", "--no-block", unit) },
		},
		{
			unit + " runs",
			func(ctx context.Context) (bool, error) {
				now, err := stateOf(ctx, unit)
				return now.stays(program, files), err
			},
			func(ctx context.Context) error { return stays(ctx, unit, program, files) },
		},
	}
}

// stays waits until a unit has run for a while without a break, with the program and the files as they are.
func stays(ctx context.Context, unit, program string, files []string) error {
	late := time.Now().Add(startsIn)
	for {
		now, err := stateOf(ctx, unit)
		switch {
		case err != nil:
			return err
		case now.stays(program, files):
			return nil
		case now.state == "deactivating": // the process before it may take long to end
			late = time.Now().Add(startsIn)
		case time.Now().After(late):
			told, err := output(ctx, "journalctl", "--unit", unit, "--lines", "5", "--no-pager", "--output", "cat")
			return errors.Join(fmt.Errorf("it does not stay up. Repair that, and run this again. The last lines of its log are:\n%s", strings.TrimSpace(told)), err)
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ends is the step after which a unit neither runs nor starts with the host.
func ends(part string) Step {
	unit := Unit(part)
	return Step{
		unit + " is stopped and disabled",
		func(ctx context.Context) (bool, error) {
			now, err := stateOf(ctx, unit)
			return now.over() && !enabled(ctx, unit), err
		},
		func(ctx context.Context) error { return command(ctx, "systemctl", "disable", "--now", "--quiet", unit) },
	}
}

// unitGone is the step after which the host has no unit of its own for a part.
func unitGone(part string) Step {
	file := gone(OwnUnit(part))
	return Step{file.Name, file.Has, func(ctx context.Context) error {
		return errors.Join(file.Make(ctx), command(ctx, "systemctl", "daemon-reload"))
	}}
}

// reloaded has systemd read its units, and then do something with one.
func reloaded(ctx context.Context, args ...string) error {
	if err := command(ctx, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	return command(ctx, "systemctl", args...)
}

func enabled(ctx context.Context, unit string) bool {
	return command(ctx, "systemctl", "is-enabled", "--quiet", unit) == nil
}

// unitState is what systemd says of a unit: its state, since when it is active, if it is, and its main process, if it has one.
type unitState struct {
	state string
	at    time.Time
	pid   string
}

func (s unitState) active() bool { return s.state == "active" }

// over reports whether the unit neither runs, nor ends, nor is started again.
func (s unitState) over() bool { return s.state == "inactive" || s.state == "failed" }

// runs reports whether the unit runs this program, since the files were last changed. A program that was replaced is another file.
func (s unitState) runs(program string, files []string) bool {
	if !s.active() || s.at.Before(newest(files)) {
		return false
	}
	its, err := os.Stat("/proc/" + s.pid + "/exe")
	wanted, missing := os.Stat(program)
	return err == nil && missing == nil && os.SameFile(its, wanted)
}

// stays reports whether the unit has run for a while, with the program and the files as they are.
func (s unitState) stays(program string, files []string) bool {
	return s.runs(program, files) && time.Since(s.at) >= staysFor
}

func stateOf(ctx context.Context, unit string) (s unitState, err error) {
	told, err := output(ctx, "systemctl", "show", "--property", "ActiveState,ActiveEnterTimestampMonotonic,MainPID", unit)
	if err != nil {
		return s, err
	}
	said := map[string]string{}
	for line := range strings.Lines(told) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[name] = value
	}
	after, err := strconv.ParseInt(said["ActiveEnterTimestampMonotonic"], 10, 64)
	if err != nil {
		return s, fmt.Errorf("systemctl says of %s: %q", unit, told)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return s, err
	}
	runs := time.Duration(now.Nano()) - time.Duration(after)*time.Microsecond
	return unitState{said["ActiveState"], time.Now().Add(-runs), said["MainPID"]}, nil
}

// newest returns when the last of the files changed. Those that are not there count for nothing.
func newest(files []string) (last time.Time) {
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// ClockIsSet returns an error where nothing keeps the clock of this host right.
func ClockIsSet() error {
	if state, err := unix.Adjtimex(&unix.Timex{}); err != nil || state != unix.TIME_ERROR {
		return err
	}
	return errors.New("the clock of this host is not synchronised: install the package chrony or systemd-timesyncd. A coordinator whose clock is wrong does not lead")
}
