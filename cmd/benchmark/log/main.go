// Command log measures what a long log costs: how long a coordinator takes to start, from the first message and from the last snapshot of
// the fold, how long it takes to answer what the state was in the middle, and how much memory it needs for that.
//
// The log is written by the decisions that a leader makes, in the batches that it appends, to a NATS server of this process that keeps it
// on disk as production does. Each coordinator is a process of its own, and takes its snapshots itself. All is kept in a folder that goes
// with the program, Ctrl-C included.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `log measures starts, questions about the past and memory on a log of many events.

  log -events 10000000    write that many events, which take about 6 GB of disk, and measure

`

func main() {
	count := flag.Int("events", 1_000_000, "how many events the log has at least")
	coordinator := flag.String("coordinator", "", "be a coordinator on the NATS server at this `URL`, until ended")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *coordinator != "" {
		err = coordinate(ctx, *coordinator)
	} else {
		err = run(ctx, *count)
	}
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "log: "+err.Error())
	}
	if err != nil {
		os.Exit(1)
	}
}

// run writes the log, measures and prints a table.
func run(ctx context.Context, count int) (err error) {
	dir, err := os.MkdirTemp("", "rookery-log-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := enoughDisk(dir, count); err != nil {
		return err
	}
	s, err := newScene(ctx, dir)
	if err != nil {
		return err
	}
	defer s.close()
	written, err := write(ctx, s.bus, count)
	if err != nil {
		return err
	}
	return s.measure(ctx, written)
}

// bytesPerEvent is about what an event takes on disk, with the index of its stream.
const bytesPerEvent = 600

func enoughDisk(dir string, count int) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if free, want := fs.Bavail*uint64(fs.Bsize), uint64(count)*bytesPerEvent; free < 2*want { //nolint:gosec // neither is below 0
		return fmt.Errorf("%s has %d MB free, and %d events take up to %d MB: name another folder with TMPDIR", dir, free>>20, count, want>>20)
	}
	return nil
}
