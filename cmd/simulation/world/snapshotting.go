package world

import (
	"fmt"
	"time"
)

// snapshotting draws a service with snapshots of its volumes, by command and on a schedule. Other commands scale it, change its spec, or
// cancel, restart, roll back or drop it meanwhile. Its instances sometimes crash or end.
func (d *drawer) snapshotting(at time.Duration) []Action {
	const between = 25 * time.Second
	const most = 5
	id := d.service()
	spec := func() string {
		text := fmt.Sprintf(`{"image":%q,"update":{"min_healthy":"%ds","healthy_deadline":"%ds"}`, images[d.IntN(len(images))], d.IntN(4), 10+d.IntN(40))
		if d.IntN(3) > 0 {
			text += `,"hooks":{"snapshot":{"exec":["hold"]}}`
		}
		text += `,"volumes":[{"name":"data","path":"/data","state":true}]`
		if d.IntN(2) == 0 {
			text += fmt.Sprintf(`,"snapshot":{"every":"%ds"}`, 60+d.IntN(180))
		}
		if d.IntN(3) == 0 {
			text += `,"topology":{}`
		}
		return text
	}
	actions := []Action{d.say(at, id, "ensure", fmt.Sprintf(`%s,"scale":%d,"busy":"supersede"}`, spec(), 1+d.IntN(most)))}
	for n := 4 + d.IntN(8); n > 0; n-- {
		at += d.soon(between) + time.Second
		if d.IntN(6) == 0 {
			actions = append(actions, Action{At: at, Kind: BadImage, For: d.soon(2 * between), N: d.IntN(4 * len(images))})
		}
		switch d.IntN(12) {
		case 0:
			actions = append(actions, d.say(at, id, "ensure", fmt.Sprintf(`%s,"scale":%d%s}`, spec(), 1+d.IntN(most), d.turn())))
		case 1:
			actions = append(actions, d.say(at, id, []string{"cancel", "restart", "rollback", "drop"}[d.IntN(4)], `{}`))
		case 2, 3:
			actions = append(actions, d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d%s}`, d.IntN(most), d.turn())))
		case 4:
			actions = append(actions,
				d.say(at, id, "snapshot", `{}`),
				d.say(at+d.soon(50*time.Millisecond), id, []string{"cancel", "snapshot", "scale"}[d.IntN(3)], `{"busy":"supersede"}`))
		default:
			actions = append(actions, d.say(at, id, "snapshot", fmt.Sprintf(`{%s}`, trimComma(d.turn()))))
			for n := d.IntN(4); n > 0; n-- {
				actions = append(actions, Action{At: at + d.soon(5*time.Second), Kind: Exit, Targets: []string{d.node()}, N: d.IntN(1 << 30)})
			}
		}
	}
	return actions
}

func trimComma(text string) string {
	if text == "" {
		return text
	}
	return text[1:]
}
