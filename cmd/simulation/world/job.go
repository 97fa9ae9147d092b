package world

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/node"
)

// jobs draws commands about jobs. They name the same services as other commands, so that a service may become a job and back.
func (d *drawer) jobs() []Action {
	const one, between = 2, 4 * time.Minute
	if d.IntN(one) > 0 {
		return nil
	}
	var all []Action
	for at := d.soon(between); at < d.plan.Lasts; at += d.soon(between) {
		id := d.service()
		all = append(all, d.say(at, id, "ensure", d.job()))
		if d.IntN(one) == 0 {
			all = append(all, d.say(at+d.soon(between), id, "drop", `{}`))
		}
	}
	return all
}

func (d *drawer) job() string {
	const most = 7
	return fmt.Sprintf(`{"image":%q,"mode":"job","job":{"completions":%d,"parallelism":%d,"backoff_limit":%d%s}%s,"busy":"supersede"}`,
		images[d.IntN(len(images))], 1+d.IntN(most), 1+d.IntN(most), d.IntN(most), d.schedule(), d.wishes())
}

// finishes ends the container of a job after a while.
func (h *host) finishes(c node.Container, image string) {
	const longest = 2 * time.Minute
	h.world.at(time.Now().Add(100*time.Millisecond+time.Duration(h.draw.Int64N(int64(longest)))), func() bool {
		code := int32(0)
		if h.world.imageOf(image) == crashes {
			code = 1
		}
		for _, have := range h.engine.Containers() {
			if have.Handle == c.Handle && have.State == node.Running && have.Instance == c.Instance {
				if code == 0 {
					h.world.checker.Finished(c.Instance)
				}
				return h.engine.Kill(c.Instance, code)
			}
		}
		return false
	})
}

// isJob reports whether the container is of a job, as its revision in the log has it.
func (h *host) isJob(c node.Container) bool {
	return h.world.checker.Spec(c.Instance.Service, c.Revision).IsJob()
}
