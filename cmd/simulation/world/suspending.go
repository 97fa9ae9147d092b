package world

import (
	"fmt"
	"time"
)

// suspending draws a service that clients suspend and resume several times, sometimes from a snapshot. Other commands reach it while it is
// suspended, some of which it must reject. Its nodes are sometimes paused when it resumes.
func (d *drawer) suspending(at time.Duration) []Action {
	const between = 40 * time.Second
	const most = 5
	id := d.service()
	actions := []Action{d.say(at, id, "ensure", fmt.Sprintf(`%s,"scale":%d,"busy":"supersede"}`, d.restful(), 1+d.IntN(most)))}
	for n := 3 + d.IntN(6); n > 0; n-- {
		at += d.soon(between) + time.Second
		actions = append(actions, d.say(at, id, "suspend", fmt.Sprintf(`{%s}`, trimComma(d.turn()))))
		if d.IntN(4) == 0 {
			actions = append(actions, Action{At: at + d.soon(3*time.Second), Kind: Exit, Targets: []string{d.node()}, N: d.IntN(1 << 30)})
		}
		if d.IntN(3) == 0 {
			verb := []string{"cancel", "resume", "drop", "suspend", "scale", "restart", "snapshot", "rollback"}[d.IntN(8)]
			body := fmt.Sprintf(`{%s}`, trimComma(d.turn()))
			if verb == "scale" {
				body = fmt.Sprintf(`{"scale":%d%s}`, 1+d.IntN(most), d.turn())
			}
			actions = append(actions, d.say(at+d.soon(5*time.Second), id, verb, body))
		}
		if d.IntN(2) == 0 {
			const soon, long = 10 * time.Second, 2 * time.Minute
			actions = append(actions, d.pauses(d.node(), at+d.soon(soon), d.soon(long))...)
		}
		at += d.soon(2 * between)
		snapshot := ""
		if d.IntN(2) == 0 {
			snapshot = fmt.Sprintf(`"snapshot":%d`, 1+d.IntN(3))
		}
		busy := d.turn()
		if snapshot == "" {
			busy = trimComma(busy)
		}
		actions = append(actions, d.say(at, id, "resume", fmt.Sprintf(`{%s%s}`, snapshot, busy)))
		if d.IntN(4) == 0 {
			at += d.soon(10 * time.Second)
			actions = append(actions, d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d%s}`, d.IntN(most), d.turn())))
		}
		switch d.IntN(5) {
		case 0:
			at += d.soon(between)
			actions = append(actions, d.say(at, id, "ensure", fmt.Sprintf(`%s,"scale":%d%s}`, d.restful(), 1+d.IntN(most), d.turn())))
		case 1, 2:
			at += d.soon(between)
			actions = append(actions, d.say(at, id, "restart", fmt.Sprintf(`{%s}`, trimComma(d.turn()))))
		}
	}
	return actions
}

// restful draws a spec with state to keep over a suspension, or without.
func (d *drawer) restful() string {
	text := fmt.Sprintf(`{"image":%q,"update":{"min_healthy":"%ds","healthy_deadline":"%ds"}`, images[d.IntN(len(images))], d.IntN(4), 10+d.IntN(40))
	if d.IntN(2) == 0 {
		text += `,"hooks":{"snapshot":{"exec":["hold"]}}`
	}
	volumes := []string{
		`{"name":"data","path":"/data","state":true}`, `{"name":"data","path":"/data","state":true}`,
		`{"name":"data","path":"/data","state":true},{"name":"more","path":"/more","state":true}`,
		`{"name":"data","path":"/data","state":true},{"name":"cache","path":"/cache"}`, ``,
	}[d.IntN(5)]
	text += `,"volumes":[` + volumes + `]`
	if volumes != "" && d.IntN(3) == 0 {
		text += fmt.Sprintf(`,"snapshot":{"every":"%ds"}`, 60+d.IntN(120))
	}
	if d.IntN(3) == 0 {
		text += `,"topology":{}`
	}
	if d.IntN(3) == 0 {
		text += fmt.Sprintf(`,"requests":{"cpu":"%dm","memory":"%dMiB"}`, d.IntN(2000), d.IntN(2000))
	}
	return text
}
