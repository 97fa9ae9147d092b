package rookerytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// ask asks the host's Podman for a list, and not over the wire that its node uses.
func (h *station) ask(path string, into any) error {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://podman/v4.0.0/libpod"+path, nil)
	if err != nil {
		return err
	}
	answer, err := h.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the Podman of %s answers %s with %s", h.name, path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// listed is a container in the list of a Podman, among them those that have nothing but storage.
type listed struct {
	ID     string `json:"Id"`
	Names  []string
	State  string
	PID    int `json:"Pid"`
	Labels map[string]string
}

func (h *station) list() ([]listed, error) {
	var all []listed
	err := h.ask("/containers/json?all=true&external=true", &all)
	return all, err
}

// audit compares what the hosts have with what the log says: by the labels of what their Podmans list, and by what runs on
// this machine for those.
func (f *trial) audit(c *projections.Cluster) findings {
	a := newAuditor(f.t, c)
	for _, h := range f.hosts {
		a.podman(audited{h.name, h.podman})
	}
	for name, engine := range f.engines {
		a.engine(name, engine.Containers())
	}
	found := a.compare()
	running := monitors()
	for _, h := range f.hosts {
		f.processes(h, running, &found)
	}
	for _, all := range []*[]string{&found.orphans, &found.duplicates, &found.leftovers} {
		*all = slices.DeleteFunc(*all, func(one string) bool { return f.known[one] })
	}
	return found
}

// processes finds monitors of containers that the Podman does not know, containers with two of them, and processes of
// containers that are gone.
func (f *trial) processes(h *station, running []monitor, found *findings) {
	all, err := h.list()
	if err != nil {
		found.missing = append(found.missing, err.Error())
		return
	}
	known := map[string]bool{}
	for _, l := range all {
		known[l.ID], f.ids[l.ID] = true, h.name
	}
	for id, pids := range h.own(running) {
		if !known[id] {
			found.leftovers = append(found.leftovers, fmt.Sprintf("the monitor of %.12s on %s", id, h.name))
		}
		if len(pids) > 1 {
			found.duplicates = append(found.duplicates, fmt.Sprintf("the monitors %v of %.12s on %s", pids, id, h.name))
		}
	}
	for id, host := range f.ids {
		if host == h.name && !known[id] && processesOf(id) {
			found.leftovers = append(found.leftovers, fmt.Sprintf("processes of %.12s on %s", id, h.name))
		}
	}
}

// monitor is a process of conmon, with what it was called with.
type monitor struct {
	pid   int
	words []string
}

// monitors returns all processes of conmon on this machine.
func monitors() []monitor {
	var all []monitor
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		words := strings.Split(string(text), "\x00")
		if err != nil || filepath.Base(words[0]) != "conmon" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			all = append(all, monitor{pid, words})
		}
	}
	return all
}

// own returns the monitors that are of the host's Podman by their container.
func (h *station) own(running []monitor) map[string][]int {
	own := map[string][]int{}
	for _, m := range running {
		at := slices.Index(m.words, "-c")
		isOwn := slices.ContainsFunc(m.words, func(word string) bool { return strings.Contains(word, h.folder()+"/") })
		if isOwn && at >= 0 && at+1 < len(m.words) {
			own[m.words[at+1]] = append(own[m.words[at+1]], m.pid)
		}
	}
	return own
}

// processesOf reports whether the container has processes, as the kernel says.
func processesOf(id string) bool {
	for _, pattern := range []string{"/sys/fs/cgroup/libpod_parent/libpod-", "/sys/fs/cgroup/*/libpod_parent/libpod-"} {
		files, _ := filepath.Glob(pattern + id + "/cgroup.procs")
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
				return true
			}
		}
	}
	return false
}

// look says why the cluster has not settled, or "", and returns what an audit finds. The cluster has settled when all of these hold: no
// command is open and each has ended once; every service has its target; the views show that; the hosts have what the log says and nothing
// else; and the state of a coordinator equals the replayed log.
func (f *trial) look() (why string, found findings) {
	var state api.ClusterState
	if !f.Ask("state", `{"live":true}`, &state) {
		return "no coordinator answers", found
	}
	if state.Open > 0 {
		return fmt.Sprintf("%d commands have not ended", state.Open), found
	}
	if err := f.log.follow(f.interrupted, f.Bus()); err != nil {
		return err.Error(), found
	}
	log := f.log.fold.Cluster
	if why := f.unended(f.log.history); why != "" {
		return why, found
	}
	for _, id := range slices.SortedFunc(maps.Keys(log.Services), events.ServiceID.Compare) {
		if !log.Services[id].Settled() {
			return fmt.Sprintf("%s has not reached its target", id), found
		}
	}
	if why := f.shown(log); why != "" {
		return why, found
	}
	found = f.audit(log)
	if !found.clean() {
		return found.String(), found
	}
	switch {
	case log.Sequence != state.Sequence:
		return "the log does not stand still", found
	case log.Hash() != state.Hash:
		return fmt.Sprintf("at log sequence %d the state has hash %s, and the log replayed %s", log.Sequence, state.Hash, log.Hash()), found
	}
	return "", found
}

// unended says which command has not one outcome and one end, or "".
func (f *trial) unended(h history) string {
	for _, s := range f.commands {
		if outcomes := h.outcomes[s]; len(outcomes) != 1 {
			return fmt.Sprintf("command %d has the outcomes %v", s, outcomes)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(h.outcomes)) {
		want := 0
		if slices.Equal(h.outcomes[s], []string{"accepted"}) {
			want = 1
		}
		if len(h.ends[s]) != want {
			return fmt.Sprintf("command %d was %v and has the ends %v", s, h.outcomes[s], h.ends[s])
		}
	}
	return ""
}

// shown says where the views differ from the log, or "".
func (f *trial) shown(c *projections.Cluster) string {
	states, err := shownIn[views.Service](f, bus.BucketServices)
	if err != nil {
		return err.Error()
	}
	for _, s := range states {
		if !slices.Contains([]string{views.StateRunning, views.StateIdle, views.StateCompleted}, s.State) {
			return fmt.Sprintf("%s/%s is shown as %s", s.Namespace, s.Name, s.State)
		}
	}
	instances, err := shownIn[views.Instance](f, bus.BucketInstances)
	if err != nil {
		return err.Error()
	}
	online := 0
	for _, i := range instances {
		if i.Status == "online" {
			online++
		} else if i.Status != "completed" {
			return fmt.Sprintf("%s/%s/%d is shown as %s", i.Namespace, i.Name, i.Ordinal, i.Status)
		}
	}
	want := 0
	for _, s := range c.Services {
		want += s.Total()
	}
	if online != want {
		return fmt.Sprintf("%d instances are shown online, and there are %d", online, want)
	}
	nodes, err := shownIn[views.Node](f, bus.BucketNodes)
	if err != nil {
		return err.Error()
	}
	for _, n := range nodes {
		if n.State != "ready" || n.Orphans > 0 {
			return fmt.Sprintf("%s is shown as %s with %d instances that it should not have", n.Name, n.State, n.Orphans)
		}
	}
	return ""
}

// shownIn returns all values of a view.
func shownIn[T any](f *trial, name string) ([]T, error) {
	// One request may be lost while a server goes: the next look sends another.
	ctx, cancel := context.WithTimeout(f.interrupted, bus.CallTimeout)
	defer cancel()
	bucket, err := f.Bus().Bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	entries, err := bucket.All(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(entries))
	for i, e := range entries {
		if err := json.Unmarshal(e.Value, &all[i]); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", e.Key, name, err)
		}
	}
	return all, nil
}
