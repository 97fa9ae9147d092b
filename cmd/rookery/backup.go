package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/telemetry"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/runner/backup"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// taken is what is printed of a backup.
type taken struct {
	Name     string    `json:"name"`
	Taken    time.Time `json:"taken"`
	Log      string    `json:"log"`
	Sequence uint64    `json:"sequence"`
	Hash     string    `json:"hash"`
	Bytes    int64     `json:"bytes"`
	Volumes  int       `json:"volumes"`
	Missing  []string  `json:"missing,omitempty"`
}

func takenOf(m backup.Manifest) taken {
	return taken{m.Name(), m.Taken, m.Log, m.Sequence, m.Hash, m.Bytes(), len(m.Volumes), m.Missing}
}

func busBackup(l *link) *cobra.Command {
	var out output
	var folder string
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Back up the log, the configs and the volume snapshots",
		Long: `Back up the log, the configs, the contents of volume snapshots and the state into files of a folder, while the cluster runs. The backup is
consistent at the end of a round. The folder may have earlier backups of the same cluster: only what is new is added. Each new file is
read back, and the hash chain of the new part of the log is verified.

DIR may be a bucket, as in s3://BUCKET/PREFIX. Its credentials are those of the AWS tools: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the
file of credentials, or those of the machine. For another server than that of AWS, give AWS_ENDPOINT_URL.

Orders and views are not in a backup: they follow from the log. Waiting commands are not in it either. The folder is for its owner
only, because it has the configs.

If the log was trimmed, give --archive for the first backup: it needs the messages that only the archive has.

rookery coordinator --backup DIR does the same at an interval.

Exit codes: 0 backed up, 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery bus backup /var/backups/rookery
  rookery bus backup /var/backups/rookery --output json
  AWS_ENDPOINT_URL=https://s3.example.com rookery bus backup s3://backups/rookery
  rookery bus restore /var/backups/rookery`,
		Args: arguments("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, done, err := l.open("rookery bus backup")
			if err != nil {
				return err
			}
			defer done()
			m, err := takeBackup(cmd.Context(), b, args[0], folder)
			if err != nil {
				return err
			}
			if out.json() {
				return out.print(cmd.OutOrStdout(), takenOf(m))
			}
			for _, digest := range m.Missing {
				complain(cmd.ErrOrStderr(), "warning: a snapshot names the content "+digest+", which the bus does not have")
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "backed up the log to sequence %d, with %d volume snapshots, as %s (%s in all)\n",
				m.Sequence, len(m.Volumes), m.Name(), humanize.IBytes(uint64(m.Bytes()))) //nolint:gosec // not below 0
			return err
		},
	}
	out.flag(cmd)
	archiveFlag(cmd, &folder)
	return cmd
}

// openStore opens the backups in a folder or a bucket.
func openStore(place string) (backup.Store, error) {
	if backup.IsS3(place) {
		return backup.NewS3(place, os.Getenv("AWS_ENDPOINT_URL"), os.Getenv("AWS_REGION"))
	}
	return backup.Folder(place), nil
}

// makeStore opens the backups, and makes their folder if it is missing.
func makeStore(place string) (backup.Store, error) {
	if backup.IsS3(place) {
		return openStore(place)
	}
	return backup.NewFolder(place)
}

// takeBackup takes a backup into the folder, with a progress line on the terminal.
func takeBackup(ctx context.Context, b *bus.JetStream, to, archive string) (backup.Manifest, error) {
	store, err := makeStore(to)
	if err != nil {
		return backup.Manifest{}, err
	}
	log, err := logState(ctx, b)
	if err != nil {
		return backup.Manifest{}, err
	}
	files, err := openArchive(archive, log.Identity)
	if err != nil {
		return backup.Manifest{}, err
	}
	tell, end := reporting(log.Last)
	defer end()
	source := sourceOf(b, func(ctx context.Context, from, to uint64) iter.Seq2[events.Message, error] {
		return func(yield func(events.Message, error) bool) {
			for m, err := range files.wholeLog(ctx, b, from, to) {
				tell("backing up", m.Sequence)
				if !yield(m, err) {
					return
				}
			}
		}
	})
	return backup.Take(ctx, source, store)
}

func sourceOf(b *bus.JetStream, log func(ctx context.Context, from, to uint64) iter.Seq2[events.Message, error]) backup.Source {
	return backup.Source{Bus: b, Log: log, By: ownProgram().Version, Now: time.Now}
}

// backingUp is what a coordinator does for backups.
type backingUp struct {
	place string
	every time.Duration
	keep  int
}

func (u *backingUp) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&u.place, "backup", "", "`folder` or s3://BUCKET/PREFIX to back the cluster up into, as rookery bus backup does")
	f.DurationVar(&u.every, "backup-every", time.Hour, "time from one backup to the next")
	f.IntVar(&u.keep, "backup-keep", 24, "number of backups to keep")
}

func (u *backingUp) check(cmd *cobra.Command) error {
	switch {
	case u.every < time.Second:
		return usage(cmd, fmt.Errorf("--backup-every %s is too short: want 1s or more", u.every))
	case u.keep < 1:
		return usage(cmd, fmt.Errorf("--backup-keep %d keeps no backup: want 1 or more", u.keep))
	}
	return nil
}

// start takes backups until stop is called, if a folder was given.
func (u *backingUp) start(ctx context.Context, b *bus.JetStream, told *telemetry.Telemetry, signers runner.Signers) (stop func(), err error) {
	if u.place == "" {
		return func() {}, nil
	}
	store, err := makeStore(u.place)
	if err != nil {
		return nil, err
	}
	schedule := backup.Schedule{
		Source: sourceOf(b, func(ctx context.Context, from, to uint64) iter.Seq2[events.Message, error] {
			return api.ReadLog(ctx, b, from, to)
		}),
		Store: store, Every: u.every, Keep: u.keep,
		Log: told.Log().With("part", "backup"), Meter: told.Meter("coordinator/runner/backup"),
	}
	schedule.Source.Roots = signers.Keys()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := schedule.Run(ctx); err != nil {
			schedule.Log.Error("no backups are taken", "error", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}, nil
}

// foldTimeout bounds what folds a whole log, which may be long.
const foldTimeout = 15 * time.Minute

// revived is what is printed of a restore.
type revived struct {
	taken
	Lost    backup.Lost `json:"lost"`
	Adopted string      `json:"adopted"`
}

func busRestore(l *link) *cobra.Command {
	var out output
	var at string
	var replicas int
	var a admission
	cmd := &cobra.Command{
		Use:   "restore DIR",
		Short: "Restore the log, the configs and the volume snapshots from a backup",
		Long: `Restore the newest backup in a folder to a bus that has no log, then adopt it. Before it writes anything, restore reads all files of the
backup and folds its log. A damaged file is an error that names the file. If restore is interrupted, run it again.

Restore prints what is lost: the events after the backup, and the commands whose acknowledgement has a later sequence. Nodes keep
running, and no container is restarted. The leader places and stops nothing until every node has listed all its containers. It adopts
those that the log does not know if their slot and revision exist. The others are orphans: events list them, and their nodes stop them.

Where the servers know who connects, only a coordinator may write the log: use its context, and its keys. With new keys, rounds of the log are
signed with the new one from then on.

Coordinators may run meanwhile: they wait. Stop coordinators of versions without this command.

Exit codes: 0 restored and adopted, 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery bus restore /var/backups/rookery
  rookery bus restore /var/backups/rookery --at 2026-11-01T12:00Z
  rookery bus restore /var/backups/rookery --context ./keys/users/coordinator.json --admission ./keys/admission
  rookery bus restore /var/backups/rookery --output json`,
		Args: arguments("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := parsePlace(at, time.Now())
			if err != nil {
				return usage(cmd, fmt.Errorf("--at: %w", err))
			}
			signers, err := a.signers()
			if err != nil {
				return err
			}
			b, done, err := l.open("rookery bus restore")
			if err != nil {
				return err
			}
			defer done()
			r, err := restoring{args[0], p, replicas, signers}.run(cmd.Context(), b)
			if err != nil {
				return err
			}
			if out.json() {
				return out.print(cmd.OutOrStdout(), r)
			}
			return r.write(cmd.OutOrStdout())
		},
	}
	out.flag(cmd)
	cmd.Flags().IntVar(&replicas, "replicas", 0, "number of NATS servers that store each stream")
	cmd.Flags().Lookup("replicas").DefValue = "as many as before"
	a.flag(cmd, "the keys that sign rounds of the log")
	cmd.Flags().StringVar(&at, "at", "", "restore the newest backup of this `place` or before: "+placeForms)
	return cmd
}

func (r revived) write(out io.Writer) error {
	if r.Lost.Events.From == 0 {
		_, err := fmt.Fprintln(out, r.Adopted)
		return err
	}
	_, err := fmt.Fprintf(out, "restored the backup of %s: the log to sequence %d, and %d volume snapshots\n"+
		"lost events: %s\nlost commands, by the sequence of their acknowledgement: %s\n%s\n",
		r.Taken.Format(time.RFC3339), r.Sequence, r.Volumes, r.Lost.Events, r.Lost.Commands, r.Adopted)
	return err
}

// restoring is what a restore is asked to do.
type restoring struct {
	from     string
	at       place
	replicas int // 0 for as many as before
	signers  runner.Signers
}

// run restores the newest backup at a place or before, and adopts the streams.
func (r restoring) run(ctx context.Context, b *bus.JetStream) (revived, error) {
	store, err := openStore(r.from)
	if err != nil {
		return revived{}, err
	}
	all, err := backup.List(ctx, store)
	if err != nil {
		return revived{}, err
	}
	m, err := backup.At(all, r.at.sequence, r.at.time)
	if err != nil {
		return revived{}, fmt.Errorf("nothing was restored from %s: %w", r.from, err)
	}
	if err := refuseBesideAnother(ctx, b); err != nil {
		return revived{}, err
	}
	tell, end := reporting(m.Sequence)
	defer end()
	cluster, err := verifyBackup(ctx, store, m, func(read events.Message) { tell("verifying", read.Sequence) })
	if err != nil {
		return revived{}, fmt.Errorf("nothing was restored: %w", err)
	}
	if cluster.Key != "" && len(r.signers) == 0 {
		return revived{}, fmt.Errorf("nothing was restored: rounds of this log are signed with %s: name the folder of keys with --admission", cluster.Key)
	}
	replicas := cmp.Or(r.replicas, m.Replicas)
	restoration := backup.Restoration{Bus: b, Store: store, Backup: m, State: cluster, Signer: r.signers.First(), Replicas: replicas}
	wrote, err := restoration.Run(ctx, func(read events.Message) { tell("restoring", read.Sequence) })
	if err != nil {
		return revived{}, err
	}
	if err := initWithin(ctx, b, replicas); err != nil {
		return revived{}, err
	}
	return adopts(ctx, b, m, cluster, wrote, r.signers)
}

func initWithin(ctx context.Context, b *bus.JetStream, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	return b.Init(ctx, replicas)
}

// adopts adopts the streams beside a log that is restored. The log may have been restored before: then it has a round that adopts them, or ends
// with the backup.
func adopts(ctx context.Context, b *bus.JetStream, m backup.Manifest, cluster *projections.Cluster, wrote bool, signers runner.Signers) (revived, error) {
	ctx, cancel := context.WithTimeout(ctx, foldTimeout)
	defer cancel()
	r := revived{taken: takenOf(m)}
	log, err := b.State(ctx, bus.Log)
	if err != nil {
		return r, err
	}
	known := runner.CheckIdentity(ctx, b)
	switch {
	case known != nil && !errors.Is(known, runner.ErrIdentity) && !errors.Is(known, bus.ErrNoStream):
		return r, fmt.Errorf("the log is restored, and it is not known whether its streams are: %w: run this again", known)
	case known == nil && !wrote:
		r.Adopted = "nothing was restored: the bus has the log of this backup"
		return r, nil
	case !wrote && log.Last > m.Sequence:
		return r, fmt.Errorf("the bus has the log of this backup, and goes on behind it: %w", known)
	}
	if r.Lost, err = backup.Missed(ctx, b, cluster); err != nil {
		return r, err
	}
	if known == nil {
		r.Adopted = "the log knows all streams: nothing is to be adopted"
		return r, nil
	}
	if r.Adopted, err = runner.Adopt(ctx, b, processName(), ownProgram(), signers); err != nil {
		return r, fmt.Errorf("the log is restored, but its streams are not adopted: %w: run this again", err)
	}
	return r, nil
}

// verifyBackup reads the backup and returns its state. This program must work at its level.
func verifyBackup(ctx context.Context, store backup.Store, m backup.Manifest, tell func(events.Message)) (*projections.Cluster, error) {
	cluster, err := backup.Verify(ctx, store, m, func(read events.Message) error { tell(read); return nil })
	if err != nil {
		return nil, err
	}
	if advice := ownProgram().Levels.Advice(cluster.Level); advice != "" {
		return nil, fmt.Errorf("this program does not work at the level of the backup: %s", advice)
	}
	return cluster, nil
}
