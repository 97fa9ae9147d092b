package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// hasSystemd is the step of a host that runs systemd.
func hasSystemd() Step {
	return Step{Name: "systemd", Has: func(ctx context.Context) (bool, error) {
		if _, err := os.Stat("/run/systemd/system"); err != nil {
			return false, fmt.Errorf("it does not run this host: %w: with --no-unit, start what you install in your own way", err)
		}
		return true, nil
	}}
}

// Unit returns the name of the unit of a part of a cluster.
func Unit(part string) string { return "rookery-" + part + ".service" }

// starts are the steps after which a unit runs, since the files that it reads were last changed, and with each start of the host.
func starts(part string, files []string) []Step {
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
				at, active, err := since(ctx, unit)
				if err != nil || !active {
					return false, err
				}
				changed, err := newest(files)
				return !at.Before(changed), err
			},
			func(ctx context.Context) error { return reloaded(ctx, "restart", "--no-block", unit) },
		},
		{
			unit + " runs",
			func(ctx context.Context) (bool, error) {
				at, active, err := since(ctx, unit)
				return active && time.Since(at) >= staysFor, err
			},
			func(ctx context.Context) error { return stays(ctx, unit) },
		},
	}
}

// stays waits until a unit has run for a while without a break.
func stays(ctx context.Context, unit string) error {
	late := time.Now().Add(startsIn)
	for {
		at, active, err := since(ctx, unit)
		switch {
		case err != nil:
			return err
		case active && time.Since(at) >= staysFor:
			return nil
		case time.Now().After(late):
			told, err := output(ctx, "journalctl", "--unit", unit, "--lines", "5", "--no-pager", "--output", "cat")
			return errors.Join(fmt.Errorf("it does not stay up: what it last said is below; this goes on when you run it again:\n%s", strings.TrimSpace(told)), err)
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ends are the steps after which a unit neither runs nor starts with the host.
func ends(part string) []Step {
	unit := Unit(part)
	return []Step{{
		unit + " is stopped and disabled",
		func(ctx context.Context) (bool, error) {
			_, active, err := since(ctx, unit)
			return !active && !enabled(ctx, unit), err
		},
		func(ctx context.Context) error { return command(ctx, "systemctl", "disable", "--now", "--quiet", unit) },
	}, gone(filepath.Join(ownUnits, unit))}
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

// since reports whether a unit is active, and since when.
func since(ctx context.Context, unit string) (at time.Time, active bool, err error) {
	told, err := output(ctx, "systemctl", "show", "--property", "ActiveState,ActiveEnterTimestampMonotonic", unit)
	if err != nil {
		return at, false, err
	}
	said := map[string]string{}
	for line := range strings.Lines(told) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[name] = value
	}
	after, err := strconv.ParseInt(said["ActiveEnterTimestampMonotonic"], 10, 64)
	if err != nil {
		return at, false, fmt.Errorf("systemctl says of %s: %q", unit, told)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return at, false, err
	}
	runs := time.Duration(now.Nano()) - time.Duration(after)*time.Microsecond
	return time.Now().Add(-runs), said["ActiveState"] == "active", nil
}

// newest returns when the last of the files changed. Those that are not there count for nothing.
func newest(files []string) (last time.Time, err error) {
	for _, name := range files {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return last, err
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last, nil
}

// ClockIsSet returns an error where nothing keeps the clock of this host right.
func ClockIsSet() error {
	if state, err := unix.Adjtimex(&unix.Timex{}); err != nil || state != unix.TIME_ERROR {
		return err
	}
	return errors.New("the clock of this host is not synchronised: install the package chrony or systemd-timesyncd. A coordinator whose clock is wrong does not lead")
}
