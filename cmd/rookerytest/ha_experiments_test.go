package rookerytest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/events/bus"
)

// experiment breaks one thing of a quorum.
type experiment struct {
	name string
	// goal is the longest time that may pass without the outcome of a command, where NATS's own gap is not longer. after is how long it may take to
	// the first outcome once what was broken is brought back, where nothing can be done before; 0 where goal holds.
	goal, after time.Duration
	// builds are programs that must be there before it begins.
	builds []func() (string, error)
	// inject breaks it, and gives scene.heals what brings it back.
	inject func(*quorum, *scene)
	// lasts is how long it stays broken.
	lasts time.Duration
	// repeats is how often it is done beyond the first time where the experiments go on for long.
	repeats int
}

// experiments are all of them, by kind.
func experiments() []experiment {
	return slices.Concat(coordinatorExperiments(), serverExperiments(), restartExperiments(), networkExperiments(), diskExperiments())
}

// coordinatorExperiments end, stop or cut off coordinators.
func coordinatorExperiments() []experiment {
	return []experiment{
		{name: "leader killed", goal: 3 * time.Second, repeats: 19, inject: func(_ *quorum, s *scene) {
			c, _ := s.leader()
			s.endsCoordinator(c)
			s.takenOver(c)
		}},
		{name: "leader stopped", goal: 3 * time.Second, lasts: 10 * time.Second, inject: func(_ *quorum, s *scene) {
			c, _ := s.leader()
			s.heals(func() { c.process.signal(syscall.SIGCONT) })
			c.process.signal(syscall.SIGSTOP)
			s.takenOver(c)
		}},
		{name: "leaders stopped again and again", goal: 3 * time.Second, inject: func(q *quorum, s *scene) {
			const times = 5
			for range times { // some in the middle of a round
				c, _ := s.leader()
				s.heals(func() { c.process.signal(syscall.SIGCONT) })
				c.process.signal(syscall.SIGSTOP)
				s.takenOver(c)
				c.process.signal(syscall.SIGCONT)
				q.decides(s)
			}
		}},
		{name: "coordinators ended in turn", goal: time.Second, inject: func(q *quorum, s *scene) {
			for _, c := range q.coordinators {
				c.process.signal(syscall.SIGTERM)
				<-c.process.ended
				q.startCoordinator(c)
				s.until(c.name+" has read the log", func() bool { return hasRead(c) })
			}
			s.saw("each ended by SIGTERM, started again, and awaited")
		}},
		{name: "clocks 30 s off", goal: 3 * time.Second, lasts: 10 * time.Second, builds: []func() (string, error){ahead, behind}, inject: func(q *quorum, s *scene) {
			q.setsClocks(s)
		}},
		{name: "leader cut off from all servers", goal: 12 * time.Second, lasts: 20 * time.Second, inject: func(_ *quorum, s *scene) {
			c, _ := s.leader()
			s.drops(c.host, "INPUT", "--in-interface", "eth0")
			s.drops(c.host, "OUTPUT", "--out-interface", "eth0")
			s.takenOver(c)
		}},
	}
}

// serverExperiments end or stop servers.
func serverExperiments() []experiment {
	return []experiment{
		{name: "server of the log killed", goal: 12 * time.Second, lasts: 5 * time.Second, inject: func(q *quorum, s *scene) {
			q.endsServer(s, q.leads(s, "ROOKERY_LOG"))
		}},
		{name: "server of the commands killed", goal: 12 * time.Second, lasts: 5 * time.Second, inject: func(q *quorum, s *scene) {
			q.endsServer(s, q.leads(s, "ROOKERY_COMMANDS"))
		}},
		{name: "server of the statuses stopped", goal: 3 * time.Second, lasts: 15 * time.Second, inject: func(q *quorum, s *scene) {
			q.freezes(s, q.leads(s, "ROOKERY_STATUS"))
		}},
		{name: "server of the log stopped", goal: 3 * time.Second, lasts: 15 * time.Second, inject: func(q *quorum, s *scene) {
			q.freezes(s, q.leads(s, "ROOKERY_LOG"))
		}},
		{name: "readers opened", goal: 3 * time.Second, inject: func(q *quorum, s *scene) { q.opensReaders(s) }},
		{name: "quorum lost", after: 10 * time.Second, lasts: 25 * time.Second, inject: func(q *quorum, s *scene) {
			for _, one := range q.servers[1:] {
				q.endsServer(s, one)
			}
		}},
	}
}

// restartExperiments end servers and start them again at once.
func restartExperiments() []experiment {
	return []experiment{
		{name: "server wiped", goal: 12 * time.Second, inject: func(q *quorum, s *scene) {
			one := q.anyServer()
			q.endsServer(s, one)
			q.wipes(s, one)
		}},
		{name: "all servers killed", after: 15 * time.Second, repeats: 4, inject: func(q *quorum, s *scene) {
			for _, one := range q.servers {
				one.process.kill()
			}
			for _, one := range q.servers {
				q.startServer(one)
			}
			s.saw("all killed at once and started")
		}},
		{name: "servers killed in turn", after: 15 * time.Second, inject: func(q *quorum, s *scene) {
			const apart = 3 * time.Second
			turns := time.NewTicker(apart)
			defer turns.Stop()
			for _, one := range q.servers {
				<-turns.C
				one.process.kill()
				q.startServer(one)
			}
			s.saw("each killed, %s apart", apart)
		}},
		{name: "servers restarted in turn", goal: 3 * time.Second, inject: func(q *quorum, s *scene) {
			for _, one := range q.servers {
				one.process.signal(syscall.SIGUSR2) // lame duck mode
				<-one.process.ended
				q.startServer(one)
				s.until(one.name+" is healthy", one.healthy)
			}
			s.saw("each asked to leave, and awaited")
		}},
	}
}

// networkExperiments cut servers off.
func networkExperiments() []experiment {
	return []experiment{
		{name: "server of the log cut off from the others", goal: 12 * time.Second, lasts: 20 * time.Second, inject: func(q *quorum, s *scene) {
			one := q.leads(s, "ROOKERY_LOG")
			q.deafens(s, one)
			q.mutes(s, one)
		}},
		{name: "server of the log hears no other", goal: 12 * time.Second, lasts: 20 * time.Second, inject: func(q *quorum, s *scene) {
			q.deafens(s, q.leads(s, "ROOKERY_LOG"))
		}},
		{name: "coordinators cut off from a server", goal: 12 * time.Second, lasts: 20 * time.Second, inject: func(q *quorum, s *scene) {
			one := q.anyServer()
			for _, c := range q.coordinators {
				s.drops(c.host, "OUTPUT", "--destination", one.address)
			}
			s.saw("no coordinator is heard by %s", one.name)
		}},
		{name: "server of the log cut off in full", goal: 12 * time.Second, lasts: 20 * time.Second, inject: func(q *quorum, s *scene) {
			one := q.leads(s, "ROOKERY_LOG")
			s.drops(one.host, "INPUT", "--in-interface", "eth0")
			s.drops(one.host, "OUTPUT", "--out-interface", "eth0")
			s.saw("%s reaches nothing", one.name)
		}},
	}
}

// diskExperiments make the disk of a server slow or full.
func diskExperiments() []experiment {
	return []experiment{
		{name: "slow disk of the server of the log", goal: 12 * time.Second, lasts: 15 * time.Second, inject: func(q *quorum, s *scene) {
			q.slowsDisk(s, q.anyServer())
		}},
		{name: "bits flipped on a server", goal: 15 * time.Second, repeats: 33, inject: func(q *quorum, s *scene) {
			q.storesObject(s)
			const flips = 3
			one := q.anyServer()
			for range flips {
				one = q.otherServer(one) // so each check says also whether the one before is whole
				q.flips(s, one)
			}
			if q.finds(s, one) {
				s.fail("%s is damaged after it was emptied", one.name)
			}
		}},
		{name: "disk of a server full", goal: 12 * time.Second, lasts: 10 * time.Second, inject: func(q *quorum, s *scene) {
			q.fillsDisk(s, q.servers[0])
		}},
	}
}

func (q *quorum) anyServer() *busServer { return q.servers[q.random.IntN(len(q.servers))] }

func (q *quorum) otherServer(than *busServer) *busServer {
	for one := q.anyServer(); ; one = q.anyServer() {
		if one != than {
			return one
		}
	}
}

// decides waits until the leader has decided a command that is sent now.
func (q *quorum) decides(s *scene) {
	sequence := q.Publish(simulatedService(0), "scale", scaleBody(simulatedScale))
	s.until(fmt.Sprintf("command %d has ended", sequence), func() bool { return q.ended(sequence) })
}

// hasRead reports whether the coordinator has read the log, which its metrics say. Which coordinator answers a question depends on the server that
// is asked.
func hasRead(c *seat) bool {
	metrics, ok := fetched("http://" + metricsAt(c.host) + "/metrics")
	return ok && bytes.Contains(metrics, []byte("\nrookery_fold_sequence"))
}

// endsServer ends the server with SIGKILL until the fault is healed.
func (q *quorum) endsServer(s *scene, one *busServer) {
	s.heals(func() { q.startServer(one) })
	one.process.kill()
	s.saw("%s is gone", one.name)
}

// freezes stops the server until the fault is healed.
func (q *quorum) freezes(s *scene, one *busServer) {
	s.heals(func() { one.process.signal(syscall.SIGCONT) })
	one.process.signal(syscall.SIGSTOP)
	s.stands(one.process.cmd.Process.Pid)
	s.saw("%s stands", one.name)
}

// wipes removes everything that a server that has ended kept: streams, and accounts.
func (q *quorum) wipes(s *scene, one *busServer) {
	kept, err := filepath.Glob(filepath.Join(one.folder, "*"))
	if err != nil || len(kept) == 0 {
		s.fail("%s keeps nothing: %v", one.name, err)
	}
	for _, folder := range append(kept, filepath.Join(filepath.Dir(one.config), "accounts")) {
		if err := os.RemoveAll(folder); err != nil {
			s.fail("%v", err)
		}
	}
	s.saw("its disk is empty")
}

// deafens drops what the server gets from the others.
func (q *quorum) deafens(s *scene, one *busServer) { q.dropsOthers(s, one, "INPUT", "--source") }

// mutes drops what the server sends to the others.
func (q *quorum) mutes(s *scene, one *busServer) { q.dropsOthers(s, one, "OUTPUT", "--destination") }

func (q *quorum) dropsOthers(s *scene, one *busServer, chain, side string) {
	for _, other := range q.servers {
		if other != one {
			s.drops(one.host, chain, side, other.address)
		}
	}
	s.saw("%s of %s dropped", chain, one.name)
}

// opensReaders opens one reader of the log after the other, and notes how long it takes at most until its first message is there.
func (q *quorum) opensReaders(s *scene) {
	const count = 500
	slowest := time.Duration(0)
	for range count {
		began := time.Now()
		ctx, cancel := context.WithTimeout(q.interrupted, settlesWithin)
		r, err := q.Bus().Read(ctx, bus.Log, 1)
		if err == nil {
			select {
			case <-r.Messages():
			case <-ctx.Done():
				err = ctx.Err()
			}
			slowest = max(slowest, time.Since(began))
			r.Stop()
		}
		cancel()
		if err != nil {
			s.fail("%v", err)
		}
	}
	s.saw("%d readers, of which the slowest had its first message after %.2f s", count, slowest.Seconds())
}

// slowsDisk makes each write of the server to its disk take 50 ms more, until the fault is healed. It lets the server lead the log, unless NATS
// finds that the server lags too far behind.
func (q *quorum) slowsDisk(s *scene, one *busServer) {
	s.heals(func() {
		one.process.kill()
		q.startServer(one)
	})
	one.process.kill()
	q.startServer(one, "strace", "-D", "--seccomp-bpf", "-f", "--quiet=all", "-o", "/dev/null",
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=50000")
	if !q.within(recoversWithin, one.healthy) {
		s.fail("%s does not become healthy", one.name)
	}
	role := "leads the log"
	if !q.leadsSoon(one, string(bus.Log)) {
		role = "lags too far behind to lead the log"
	}
	s.saw("each write of %s takes 50 ms more, and it %s", one.name, role)
}

// storesObject stores another object whose copies can be damaged.
func (q *quorum) storesObject(s *scene) {
	const size = 300 << 10 // several parts
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(q.random.Uint32())
	}
	ctx, cancel := context.WithTimeout(q.interrupted, settlesWithin)
	defer cancel()
	q.objects++
	if err := q.Bus().Objects(bus.ObjectsVolumes).Put(ctx, fmt.Sprintf("flipped-%d", q.objects), bytes.NewReader(content)); err != nil {
		s.fail("%v", err)
	}
}

// flips changes one bit in a file of the log or of the stored objects on the disk of the server while it is down. The deep check names the server,
// which is then emptied and has a whole copy again, or finds nothing.
func (q *quorum) flips(s *scene, one *busServer) {
	streams := []string{string(bus.Log), string(bus.ObjectStream(bus.ObjectsVolumes))}
	stream := streams[q.random.IntN(len(streams))]
	// A server that reads its blocks again leaves out a message that was changed: so a whole object may be there without its entry.
	pattern, entry := []string{"*.blk", "index.db"}[q.random.IntN(2)], false
	if stream != string(bus.Log) && pattern == "*.blk" {
		entry = q.random.IntN(2) == 0
	}
	one.process.signal(syscall.SIGTERM) // it writes its index, and does not read its blocks again to make one
	<-one.process.ended
	where := q.flip(s, filepath.Join(one.folder, "jetstream", "*", "streams", stream, "msgs", pattern), entry)
	q.starts(s, one)
	if !q.finds(s, one) {
		s.saw("%s of %s: harmless", where, one.name)
		return
	}
	one.process.kill()
	q.wipes(s, one)
	q.starts(s, one)
	s.saw("%s of %s: detected", where, one.name)
}

// finds reports whether the deep check finds that this server has a damaged copy; else it must find nothing. While a stream has no leader for a
// moment, the check says that, and is asked again.
func (q *quorum) finds(s *scene, one *busServer) (damaged bool) {
	var out string
	if !q.within(settlesWithin, func() bool {
		var code int
		out, code = rookery(q.t, append([]string{"bus", "check", "--deep"}, q.reach...)...)
		damaged = strings.Contains(out, one.name+" has a damaged copy of ")
		return damaged || code == 0
	}) || strings.Count(out, " has a damaged copy of ") > strings.Count(out, one.name+" has a damaged copy of ") {
		s.fail("the deep check of %s says %s", one.name, out)
	}
	return damaged
}

// starts starts a server that has ended, and waits until it is healthy.
func (q *quorum) starts(s *scene, one *busServer) {
	q.startServer(one)
	s.until(one.name+" is healthy", one.healthy)
}

// flip changes one bit in one of these files, and says where: in the entry of the object that was stored last, or anywhere. Blocks are encrypted, and that
// entry is the end of the last one.
func (q *quorum) flip(s *scene, pattern string, entry bool) (where string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		s.fail("there is no %s: %v", pattern, err)
	}
	file := files[q.random.IntN(len(files))]
	if entry {
		file = slices.MaxFunc(files, func(a, b string) int { return blockNumber(a) - blockNumber(b) })
	}
	content, err := os.ReadFile(file)
	if err != nil || len(content) == 0 {
		s.fail("%s: %d bytes: %v", file, len(content), err)
	}
	const length = 300 // of an entry
	within := len(content)
	if entry {
		within = min(within, length)
	}
	at := len(content) - 1 - q.random.IntN(within)
	content[at] ^= 1 << q.random.IntN(8)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		s.fail("%v", err)
	}
	stream := filepath.Base(filepath.Dir(filepath.Dir(file)))
	return fmt.Sprintf("byte %d of %d in %s of %s", at, len(content), filepath.Base(file), stream)
}

// blockNumber is the number that is the name of a block's file.
func blockNumber(block string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(block), ".blk")) // else its name has none
	return n
}

// fillsDisk leaves the server no room to write. Then there is room again, and an operator starts the server again, which has closed what it
// could not write.
func (q *quorum) fillsDisk(s *scene, one *busServer) {
	path := filepath.Join(one.folder, "other")
	s.heals(func() {
		if err := os.Remove(path); err != nil {
			s.fail("%v", err)
		}
		one.process.kill()
		q.startServer(one)
	})
	var disk unix.Statfs_t
	if err := unix.Statfs(one.folder, &disk); err != nil {
		s.fail("%v", err)
	}
	s.run("fallocate", "--length", strconv.FormatUint(disk.Bavail*uint64(disk.Bsize), 10), path)
	s.saw("the disk of %s is full", one.name)
}
