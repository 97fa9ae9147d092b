package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// grouping draws a sequence of commands that each change a group of services. Some fail. Others follow that change, cancel or drop members
// while the group is under way, or wait behind it.
func (d *drawer) grouping(at time.Duration) []Action {
	const between = 45 * time.Second
	id := events.GroupID{Namespace: d.service().Namespace, Name: []string{"all", "some"}[d.IntN(2)]}
	var actions []Action
	for n := 1 + d.IntN(5); n > 0; n-- {
		at += d.soon(2*between) + time.Second
		if d.IntN(5) == 0 {
			actions = append(actions, Action{At: at, Kind: BadImage, For: d.soon(2 * between), N: d.IntN(4 * len(images))})
		}
		members := d.members(id.Namespace)
		actions = append(actions, d.sayGroup(at, id, "ensure", d.group(members)))
		for after := d.IntN(4); after > 0; after-- {
			actions = append(actions, d.meddle(at+d.soon(between), id, members[d.IntN(len(members))]))
		}
	}
	return actions
}

// meddle draws a command that arrives while a group is under way, or after it.
func (d *drawer) meddle(at time.Duration, id events.GroupID, member string) Action {
	service := id.Member(member)
	switch d.IntN(9) {
	case 0:
		return d.sayGroup(at, id, "cancel", `{}`)
	case 1:
		return d.say(at, service, "drop", `{}`)
	case 2:
		return d.say(at, service, "cancel", `{}`)
	case 3, 4:
		return d.say(at, service, "promote", `{}`)
	case 5:
		return d.say(at, service, "restart", fmt.Sprintf(`{%s}`, trimComma(d.turn())))
	case 6:
		return d.say(at, service, "ensure", d.spec(d.turn()))
	}
	return d.say(at, service, "scale", fmt.Sprintf(`{"scale":%d%s}`, d.IntN(5), d.turn()))
}

// members draws services of the namespace, in the order in which each may come after those before it.
func (d *drawer) members(namespace string) []string {
	names := []string{"cache"}
	for _, s := range services {
		if s.Namespace == namespace {
			names = append(names, s.Name)
		}
	}
	d.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:1+d.IntN(len(names))]
}

// group draws the specs of the members. Now and then their dependencies form a cycle, or a member can never run.
func (d *drawer) group(members []string) string {
	var specs []string
	for i, name := range members {
		var after []string
		for _, other := range members[:i] {
			if d.IntN(3) > 0 {
				after = append(after, fmt.Sprintf("%q", other))
			}
		}
		if d.IntN(60) == 0 {
			after = append(after, fmt.Sprintf("%q", members[len(members)-1]))
		}
		slices.Sort(after)
		specs = append(specs, fmt.Sprintf(`%q:%s,"after":[%s]}`, name, d.member(), strings.Join(slices.Compact(after), ",")))
	}
	busy := []string{"", `,"busy":"supersede"`, `,"busy":"supersede"`, fmt.Sprintf(`,"if_seq":%d`, 1+d.IntN(5000))}[d.IntN(4)]
	return fmt.Sprintf(`{"services":{%s}%s}`, strings.Join(specs, ","), busy)
}

// member draws the spec of one service of a group, without the closing brace. Its deadlines are short, because a group may run into many of
// them one after the other.
func (d *drawer) member() string {
	spec := fmt.Sprintf(`{"image":%q`, images[d.IntN(len(images))])
	switch d.IntN(16) {
	case 0:
		spec += `,"mode":"global"`
	case 1:
		spec += `,"mode":"job"`
	case 2:
		spec += fmt.Sprintf(`,"topology":{},"scale":%d`, d.IntN(4))
	case 3, 4, 5, 6, 7, 8, 9, 10, 11:
		spec += fmt.Sprintf(`,"scale":%d`, d.IntN(4))
	}
	if d.IntN(3) > 0 {
		spec += fmt.Sprintf(`,"update":{"progress_deadline":"%ds",%s}`, 80+d.IntN(100), d.way())
	}
	return spec + d.trap()
}

func (d *drawer) sayGroup(at time.Duration, id events.GroupID, verb, body string) Action {
	return d.send(Action{At: at, Kind: Command, Subject: events.GroupSubject(id, verb), Body: body}, "io.rookery.group.v1."+verb)
}
