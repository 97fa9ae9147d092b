package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman"
)

// check is one line of the doctor's report.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

func doctorCommand(l *link) *cobra.Command {
	var out output
	var podmanURL string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check bus, clock, Podman, runtime, cgroups and disk",
		Example: `  rookery doctor
  rookery doctor --output json`,
		Args: arguments(),
	}
	out.flag(cmd)
	podmanFlag(cmd, &podmanURL)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		checks := append(checkBus(cmd.Context(), l), checkHost(cmd.Context(), podmanURL)...)
		return printChecks(cmd.OutOrStdout(), checks, out)
	}
	return cmd
}

func printChecks(out io.Writer, checks []check, how output) error {
	var failed []string
	for _, c := range checks {
		if !c.OK {
			failed = append(failed, c.Name)
		}
	}
	if how.json() {
		if err := how.print(out, checks); err != nil {
			return err
		}
	} else {
		rows := make([]string, len(checks))
		for i, c := range checks {
			rows[i] = fmt.Sprintf("%s\t%s\t%s", map[bool]string{true: "ok", false: "PROBLEM"}[c.OK], c.Name, c.Found)
			if c.Advice != "" {
				rows[i] += "\n\t\t→ " + c.Advice
			}
		}
		if err := table(out, "\tCHECK\tFOUND", rows); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d checks found a problem: %s", len(failed), len(checks), strings.Join(failed, ", "))
	}
	return nil
}

// result turns an error into a check: the finding if err is nil, else the error and the advice.
func result(name, found string, err error, advice string) check {
	if err != nil {
		return check{Name: name, Found: err.Error(), Advice: advice}
	}
	return check{Name: name, OK: true, Found: found}
}

func checkBus(ctx context.Context, l *link) []check {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	b, done, err := l.open("rookery doctor")
	if err != nil {
		return []check{result("bus", "", err, "")}
	}
	defer done()
	checks := []check{{Name: "bus", OK: true, Found: b.Conn().ConnectedUrlRedacted() + ", nats-server " + b.Conn().ConnectedServerVersion()}}
	servers := b.Servers(ctx)
	checks = append(checks, checkServers(servers))
	servers = slices.DeleteFunc(servers, func(s bus.Server) bool { return s.CertificateEnds.IsZero() })
	if len(servers) > 0 {
		checks = append(checks, checkCertificates(servers, time.Now()))
	}
	began := time.Now()
	findings, err := b.Check(ctx)
	if err != nil {
		err = explained(ctx, b, err, began)
		advice := "enable JetStream on the server"
		if b.WrongServer(err) != "" {
			advice += ", unless it is a leaf node"
		}
		if errors.Is(err, bus.ErrUnknown) {
			advice = "start the NATS servers that do not run, and let them reach each other: JetStream answers while most of them do"
		}
		return append(checks, result("streams", "", err, advice))
	}
	problems, repair := problemsOf(findings), "run `rookery bus init`"
	if wrong := b.WrongServer(problems); wrong != "" {
		repair = wrong + "; otherwise " + repair
	}
	checks = append(checks, result("streams", fmt.Sprintf("%d, as required", len(findings)), problems, repair))
	if !checks[len(checks)-1].OK {
		return checks
	}
	err, advice := runner.CheckIdentity(ctx, b), ""
	if errors.Is(err, runner.ErrIdentity) {
		advice = "run `rookery bus adopt` once you know why"
	}
	checks = append(checks, result("identity", "the log knows every stream", err, advice))
	checks = append(checks, checkCopies(ctx, b), checkClock(ctx, b), checkRoom(ctx, b))
	m, err := b.Request(ctx, events.Message{Subject: b.QuestionSubject("state", ""), Header: events.Header{}})
	if err != nil {
		return append(checks, result("coordinator", "", err, "start one with `rookery coordinator`"))
	}
	err = refusal(m)
	if stale := m.Header.Get(bus.HeaderStale); err == nil && stale != "" {
		err = errors.New(stale)
	}
	return append(checks, result("coordinator", "answers", err, "ask again: it folds the log, or is cut off from it; its own log says more"))
}

// renewWithin is how long before a certificate ends the doctor warns.
const renewWithin = 14 * 24 * time.Hour

// checkCertificates checks that the certificates of the servers are valid for long enough.
func checkCertificates(servers []bus.Server, now time.Time) check {
	slices.SortStableFunc(servers, func(a, b bus.Server) int { return a.CertificateEnds.Compare(b.CertificateEnds) })
	var ending []error
	for _, s := range servers {
		switch left := s.CertificateEnds.Sub(now); {
		case left < 0:
			ending = append(ending, fmt.Errorf("that of %s ended on %s", s.Name, s.CertificateEnds.Format(time.DateOnly)))
		case left < renewWithin:
			ending = append(ending, fmt.Errorf("that of %s ends on %s", s.Name, s.CertificateEnds.Format(time.DateOnly)))
		}
	}
	return result("certificate", fmt.Sprintf("the first one ends on %s: that of %s", servers[0].CertificateEnds.Format(time.DateOnly), servers[0].Name),
		errors.Join(ending...), "run `rookery secure renew`, and copy what it says to the servers: clients cannot connect to a server after that day")
}

// checkServers checks the versions of the servers.
func checkServers(servers []bus.Server) check {
	var words []string
	for _, s := range servers {
		if s.Version != "" {
			words = append(words, s.Name+" runs "+s.Version)
		}
	}
	return result("servers", strings.Join(words, ", ")+"; the oldest supported is "+bus.OldestServer, problemsOf(servers),
		"upgrade one server after the other: stop it, install nats-server "+bus.OldestServer+" or later, and start it")
}

// checkCopies checks that every server that keeps a stream, bucket or object store answers.
func checkCopies(ctx context.Context, b *bus.JetStream) check {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	kept, err := b.Copies(ctx)
	if err != nil {
		return result("copies", "", err, "ask again once a server leads all streams")
	}
	return result("copies", fmt.Sprintf("of %d streams, buckets and object stores, each on a server that answers", len(kept)), problemsOf(kept),
		"start the servers that do not answer; what they lack they get from the others")
}

func checkClock(ctx context.Context, b bus.Bus) check {
	const most = 5 * time.Second
	here := time.Now()
	server, err := b.Now(ctx)
	skew := here.Sub(server).Abs()
	if err == nil && skew > most {
		err = fmt.Errorf("%s off the server's", skew.Round(time.Millisecond))
	}
	return result("clock", fmt.Sprintf("%s off the server's", skew.Round(time.Millisecond)), err,
		"synchronise both by NTP: a coordinator with this clock cannot lead")
}

func checkRoom(ctx context.Context, b *bus.JetStream) check {
	found, room, err := roomWords(ctx, b)
	if err == nil && room.Scarce() {
		err = errors.New(found)
	}
	return result("room", found, err, roomAdvice)
}

func checkHost(ctx context.Context, url string) []check {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	engine, err := podman.Connect(ctx, url)
	if err != nil {
		return []check{result("podman", "", err, "install Podman, "+
			"start its service with `podman system service --time 0 "+url+"`, or name another with --podman")}
	}
	info, err := engine.Info(ctx)
	if err != nil {
		return []check{result("podman", "", err, "check that its service answers: podman --url "+url+" info")}
	}
	checks := []check{
		{Name: "podman", OK: true, Found: info.Version + map[bool]string{true: ", rootless", false: ", rootful"}[info.Rootless]},
		{Name: "runtime", OK: true, Found: info.Runtime},
		{Name: "cgroups", OK: true, Found: string(info.Cgroups)},
	}
	if info.Rootless && info.Cgroups != events.CgroupsV2 {
		checks[2] = check{
			Name: "cgroups", Found: string(info.Cgroups) + " with a rootless Podman",
			Advice: "this Podman cannot limit CPU and memory: boot with cgroups v2, or run Podman as root",
		}
	}
	if info.Runtime == "crun" && info.Cgroups != events.CgroupsV2 {
		checks[1] = check{Name: "runtime", Found: "crun with cgroups " + string(info.Cgroups), Advice: "crun refuses hybrid cgroups: install runc and set runtime = \"runc\" in containers.conf"}
	}
	return append(checks, checkDisk(info.Store))
}

func checkDisk(folder string) check {
	const least = 1 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		if os.IsNotExist(err) {
			return check{Name: "disk", OK: true, Found: "Podman's store is on another host"}
		}
		return result("disk", "", err, "")
	}
	free := fs.Bavail * uint64(fs.Bsize)
	found := fmt.Sprintf("%.1f GiB free for Podman's store in %s", float64(free)/(1<<30), folder)
	if free < least {
		return check{Name: "disk", Found: found, Advice: "free some space: images and containers need at least 1 GiB"}
	}
	return check{Name: "disk", OK: true, Found: found}
}
