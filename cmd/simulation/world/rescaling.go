package world

import (
	"fmt"
	"time"
)

// rescales draws a service with a topology and many commands that scale it. Other commands change its spec, cancel, restart or roll it back
// meanwhile. The instances of some services refuse their hooks, or crash.
func (d *drawer) rescales(at time.Duration) []Action {
	const between = 30 * time.Second
	const most = 7
	id := d.service()
	spec := func() string {
		return fmt.Sprintf(`{"image":%q,"topology":{"on_failure":%q}%s,"update":{"min_healthy":"%ds","healthy_deadline":"%ds"}%s`,
			images[d.IntN(len(images))], []string{"abort", "abort", "retry", "retry", "continue"}[d.IntN(5)], d.hooks(), d.IntN(6), 10+d.IntN(60), d.trap())
	}
	actions := []Action{d.say(at, id, "ensure", fmt.Sprintf(`%s,"scale":%d,"busy":"supersede"}`, spec(), 1+d.IntN(most)))}
	for n := 3 + d.IntN(6); n > 0; n-- {
		at += d.soon(between) + time.Second
		if d.IntN(6) == 0 {
			actions = append(actions, Action{At: at, Kind: BadImage, For: d.soon(2 * between), N: d.IntN(4 * len(images))})
		}
		switch d.IntN(8) {
		case 0:
			actions = append(actions, d.say(at, id, "ensure", fmt.Sprintf(`%s,"scale":%d%s}`, spec(), 1+d.IntN(most), d.turn())))
		case 1:
			actions = append(actions, d.say(at, id, []string{"cancel", "restart", "rollback"}[d.IntN(3)], `{}`))
		default:
			actions = append(actions, d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d%s}`, 1+d.IntN(most), d.turn())))
		}
	}
	return actions
}

// hooks draws the hooks of instances, and whether these always succeed.
func (d *drawer) hooks() string {
	const share, ways = 3, 5
	drawn := d.IntN(share * ways)
	mood := ""
	if drawn%share == 0 {
		mood = fmt.Sprintf(",%q", moody)
	}
	release, acquire := fmt.Sprintf(`"release":{"exec":["release"%s]}`, mood), fmt.Sprintf(`"acquire":{"exec":["acquire"%s]}`, mood)
	switch drawn / share {
	case 0:
		return ""
	case 1:
		return `,"hooks":{` + release + `}`
	}
	return `,"hooks":{` + release + `,` + acquire + `}`
}
