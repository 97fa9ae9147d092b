package world

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
)

// absences draws the times at which nodes are lost.
func (d *drawer) absences() {
	const most = 6
	for n := d.IntN(most); n > 0; n-- {
		d.plan.Actions = append(d.plan.Actions, d.absence(time.Duration(d.Int64N(int64(d.plan.Lasts))))...)
	}
}

// absence draws one or two nodes that are cut off until they are lost. It also draws commands, ends of containers and crashes of
// coordinators for the same time.
func (d *drawer) absence(at time.Duration) []Action {
	const most, between = 8 * time.Minute, 4 * time.Minute
	id := d.service()
	all := []Action{d.say(at, id, "ensure", d.disconnects())}
	if d.IntN(3) == 0 {
		policies := []string{
			`{"liveness":{"lost_after":"20s"}}`, `{"liveness":{"lost_after":"2m","max_silent":1}}`, `{"liveness":{"max_silent":0.2}}`,
			`{"liveness":{"silent_after":"12s"}}`, `{"liveness":{"max_silent":0}}`, `{}`,
		}
		all = append(all, Action{At: at, Kind: Command, Subject: events.CommandRoot + ".cluster.policy", Body: policies[d.IntN(len(policies))]})
	}
	at += d.soon(between)
	cut := Action{At: at, Kind: Partition, Targets: []string{d.node()}, For: time.Minute + time.Duration(d.Int64N(int64(most))), N: d.IntN(1 << 30)}
	if d.IntN(4) == 0 {
		cut.Targets = append(cut.Targets, d.node())
	}
	all = append(all, cut)
	for range d.IntN(3) {
		then := at + time.Duration(d.Int64N(int64(cut.For)+int64(time.Minute)))
		switch d.IntN(5) {
		case 0:
			all = append(all, Action{At: then, Kind: Crash, Targets: []string{d.coordinator()}, For: d.soon(10 * time.Second), N: d.IntN(1 << 30)})
		case 1:
			all = append(all, d.say(then, id, "drop", `{}`))
		case 2:
			all = append(all, d.say(then, id, "scale", fmt.Sprintf(`{"scale":%d,"busy":"supersede"}`, d.IntN(7))))
		case 3:
			all = append(all, d.say(then, id, "ensure", d.disconnects()))
		default:
			all = append(all, Action{At: then, Kind: Exit, Targets: []string{cut.Targets[0]}, N: d.IntN(1 << 30)})
		}
	}
	return all
}

// disconnects draws a service whose spec says what happens to instances on a silent node.
func (d *drawer) disconnects() string {
	lost := []string{"", `"lost_after":"10s"`, `"lost_after":"2m"`}[d.IntN(3)]
	keeps := []string{"", `"reconcile":"keep-original"`, `"reconcile":"keep-replacement"`, `"reconcile":"longest-running"`}[d.IntN(4)]
	if lost != "" && keeps != "" {
		lost += ","
	}
	return fmt.Sprintf(`{"image":%q,"scale":%d,"disconnect":{%s},"busy":"supersede"}`, images[d.IntN(len(images))], 1+d.IntN(6), lost+keeps)
}
