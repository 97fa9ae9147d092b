package world

import (
	"strings"
	"time"

	"github.com/rookery-project/rookery/node"
)

// disks adds requests and limits for disk to the specs of some plans, and draws when a container takes more of the disk than it may.
func (d *drawer) disks() {
	const share, often, mean = 3, 4, 5 * time.Minute
	if d.IntN(share) > 0 {
		return
	}
	wishes := []string{
		`"scratch":{},`, `"scratch":{"size":"0B"},`, `"scratch":{"size":"64MiB"},"resources":{"disk":"1GiB"},`, `"requests":{"disk":"1MiB"},`,
	}
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		switch {
		case a.Kind != Command || d.IntN(often) > 0:
		case strings.HasSuffix(a.Subject, ".ensure") && !strings.Contains(a.Body, `"requests"`):
			a.Body = strings.Replace(a.Body, `"image":`, wishes[d.IntN(len(wishes))]+`"image":`, 1)
		case strings.HasSuffix(a.Subject, ".cluster.policy") && a.Body == "{}":
			a.Body = []string{`{"always_use_disk":true}`, `{"security_context":"engine"}`}[d.IntN(2)]
		}
	}
	for at := d.soon(mean); at < d.plan.Lasts; at += d.soon(mean) {
		d.plan.Actions = append(d.plan.Actions, Action{At: at, Kind: DiskFilled, Targets: []string{d.node()}, N: d.IntN(1 << 30)})
	}
}

// hitDiskFilled fills the disk of one running container of a host beyond every limit. The node may end the container for that.
func hitDiskFilled(w *World, a Action) {
	h := w.hosts[a.Targets[0]]
	running := h.running()
	if len(running) == 0 {
		return
	}
	const much = 1 << 40
	id := running[a.N%len(running)].Instance
	h.engine.Fill(id, node.Usage{Own: much, Scratch: much})
	w.checker.Unwell(id.String())
}
