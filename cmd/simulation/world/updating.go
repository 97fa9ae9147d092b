package world

import (
	"fmt"
	"strings"
	"time"
)

// updates draws a service with several updates, each with settings of its own. Some updates fail, because no node fits or an instance never
// serves. Other commands promote canaries, repeat the update, or scale, restart, roll back or cancel it.
func (d *drawer) updates(at time.Duration) []Action {
	const between = 40 * time.Second
	id, scale := d.service(), 1+d.IntN(6)
	actions := []Action{d.say(at, id, "ensure", fmt.Sprintf(`{"image":"localhost/a:1","scale":%d,"busy":"supersede"}`, scale))}
	for n := 2 + d.IntN(4); n > 0; n-- {
		at += d.soon(2*between) + time.Second
		spec := fmt.Sprintf(`{"image":%q,"update":{%s}%s`, images[d.IntN(len(images))], d.way(), d.trap())
		actions = append(actions, d.say(at, id, "ensure", spec+d.turn()+`}`))
		for after := d.IntN(4); after > 0; after-- {
			at += d.soon(between)
			switch d.IntN(5) {
			case 0, 1:
				actions = append(actions, d.say(at, id, "promote", `{}`))
			case 2:
				actions = append(actions, d.say(at, id, "ensure", spec+`}`))
			case 3:
				actions = append(actions, d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d%s}`, 1+d.IntN(6), d.turn())))
			case 4:
				actions = append(actions, d.say(at, id, []string{"restart", "rollback", "cancel"}[d.IntN(3)], `{}`))
			}
		}
	}
	return actions
}

func (d *drawer) turn() string {
	return []string{"", `,"busy":"supersede"`, `,"busy":"supersede"`, `,"busy":"queue"`}[d.IntN(4)]
}

// way draws the update settings of a spec: how the coordinator replaces instances.
func (d *drawer) way() string {
	var says []string
	say := func(format string, args ...any) { says = append(says, fmt.Sprintf(format, args...)) }
	strategy := d.IntN(6)
	switch strategy {
	case 0:
		say(`"strategy":"recreate"`)
	case 1:
		say(`"strategy":"barrier"`)
	default:
		say(`"parallelism":%d`, 1+d.IntN(4))
		if d.IntN(3) == 0 {
			say(`"order":"stop-first"`)
		}
		if d.IntN(3) == 0 {
			say(`"canaries":%d,"promote":%q`, 1+d.IntN(3), []string{"command", "command", "auto"}[d.IntN(3)])
		}
	}
	say(`"min_healthy":"%ds","healthy_deadline":"%ds"`, d.IntN(10), 10+d.IntN(60))
	if d.IntN(3) == 0 {
		say(`"monitor":"%ds"`, 1+d.IntN(60))
	}
	if d.IntN(4) == 0 {
		say(`"delay":"%ds"`, 1+d.IntN(30))
	}
	if strategy != 1 && d.IntN(4) == 0 {
		say(`"max_failure_ratio":0.%d`, d.IntN(10))
	}
	if action := d.IntN(4); strategy != 1 || action != 1 {
		say(`"on_failure":%q`, []string{"pause", "continue", "rollback", "rollback"}[action])
	}
	return strings.Join(says, ",")
}

// trap draws a field that may keep an update from its end, or "".
func (d *drawer) trap() string {
	switch d.IntN(6) {
	case 0:
		return `,"node_selector":{"disk":"tape"}`
	case 1:
		return `,"configs":[{"name":"a"}]`
	case 2:
		return `,"health":{"exec":["check"],"interval":"5s","retries":2}`
	case 3:
		return `,"volumes":[{"name":"data","path":"/data"}]`
	}
	return ""
}
