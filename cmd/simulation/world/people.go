package world

import (
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// services lists the services that commands name.
var services = []events.ServiceID{
	{Namespace: "demo", Name: "web"},
	{Namespace: "demo", Name: "api"},
	{Namespace: "demo", Name: "db"},
	{Namespace: "team", Name: "web"},
	{Namespace: "team", Name: "worker"},
}

// images lists the images that specs name.
var images = []string{"localhost/a:1", "localhost/a:2", "localhost/b:1", "localhost/c:1"}

func (d *drawer) clients(at time.Duration) []Action {
	// A client sends mostly sensible commands. Sometimes it contradicts the command before, repeats one, or sends nonsense.
	switch d.IntN(12) {
	case 0:
		return []Action{d.nonsense(at)}
	case 1:
		return d.again(at)
	case 2:
		return d.contradiction(at)
	case 3:
		if d.IntN(2) == 0 {
			return d.operate(at)
		}
		return []Action{{At: at, Kind: Ask, N: d.IntN(1 << 30)}}
	}
	return []Action{d.sensible(at)}
}

// contradiction draws commands that each undo the one before.
func (d *drawer) contradiction(at time.Duration) []Action {
	id := d.service()
	return []Action{
		d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d,"busy":"supersede"}`, 1+d.IntN(6))),
		d.say(at+d.soon(5*time.Millisecond), id, "drop", `{}`),
		d.say(at+d.soon(100*time.Millisecond), id, "ensure", d.spec(`,"busy":"supersede"`)),
	}
}

func (d *drawer) service() events.ServiceID { return services[d.IntN(len(services))] }

func (d *drawer) sensible(at time.Duration) Action {
	id := d.service()
	busy := []string{"", `,"busy":"supersede"`, `,"busy":"reject"`}[d.IntN(3)]
	switch d.IntN(6) {
	case 0:
		return d.say(at, id, "drop", `{}`)
	case 1, 2:
		return d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d%s}`, d.IntN(7), busy))
	}
	return d.say(at, id, "ensure", d.spec(busy))
}

func (d *drawer) spec(busy string) string {
	spec := fmt.Sprintf(`{"image":%q`, images[d.IntN(len(images))])
	switch d.IntN(12) {
	case 0:
		spec += `,"mode":"global"`
	case 1, 2, 3, 4, 5, 6, 7:
		spec += fmt.Sprintf(`,"scale":%d`, d.IntN(7))
	}
	if ports := d.IntN(3); ports > 0 {
		spec += `,"ports":[{"name":"http","port":80}`
		if ports > 1 {
			spec += `,{"name":"admin","port":81}`
		}
		spec += `]`
		if d.IntN(3) == 0 {
			spec += fmt.Sprintf(`,"args":[%q,%q]`, templates[0], templates[1])
		}
	}
	return spec + d.wishes() + busy + `}`
}

// templates are arguments over the addresses of an instance and its peers.
var templates = []string{`{{.Ordinal}} at {{.Address "http"}}`, `{{join (.Peers "http") ","}}`}

// wishes draws on which nodes instances may run, and their resources, volumes and health checks.
func (d *drawer) wishes() string {
	var wishes string
	if d.IntN(3) == 0 {
		wishes += fmt.Sprintf(`,"requests":{"cpu":"%dm","memory":"%dMiB"}`, d.IntN(2000), d.IntN(2000))
	}
	if d.IntN(8) == 0 {
		wishes += `,"volumes":[{"name":"data","path":"/data"}]`
	}
	if d.IntN(4) == 0 {
		wishes += `,"health":{"exec":["check"],"interval":"5s","retries":2}`
	}
	switch d.IntN(12) {
	case 0:
		wishes += `,"node_selector":{"disk":"ssd"}`
	case 1:
		wishes += fmt.Sprintf(`,"zones":[%q]`, zoneName(d.IntN(3)))
	case 2:
		wishes += fmt.Sprintf(`,"max_per_node":%d`, 1+d.IntN(2))
	case 3:
		wishes += `,"labels":{"app":"a"},"anti_affinity":[{"label":"app","operator":"equal","values":["a"]}]`
	case 4:
		wishes += `,"labels":{"app":"b"},"spread":[{"label":"app","operator":"exists"}]`
	case 5:
		wishes += `,"labels":{"app":"a"}`
	}
	return wishes
}

// operate draws an operator's commands to the cluster and its nodes.
func (d *drawer) operate(at time.Duration) []Action {
	if d.IntN(2) == 0 {
		policies := []string{
			`{}`, `{"profile":"optimize-utilization"}`, `{"spread":{"ignore_scaled":false}}`, `{"spread":{"ignore_scaled":false,"soft":true}}`,
			`{"anti_affinity":{"soft":true,"weight":50},"zone_affinity":{"soft":true}}`, `{"same_zone":0,"default":{"cpu":"100m"}}`,
			`{"spread":{"max_skew":0}}`,
		}
		return []Action{{At: at, Kind: Command, Subject: events.CommandRoot + ".cluster.policy", Body: policies[d.IntN(len(policies))]}}
	}
	const long = 3 * time.Minute
	if d.IntN(4) == 0 {
		subject := events.CommandRoot + ".cluster.nodes"
		return []Action{
			{At: at, Kind: Command, Subject: subject, Body: fmt.Sprintf(`{"allowed":[%q,%q]}`, d.node(), d.node())},
			{At: at + d.soon(long), Kind: Command, Subject: subject, Body: `{"allowed":[]}`},
		}
	}
	return d.pauses(d.node(), at, d.soon(long))
}

// pauses draws that a node is paused, so that it takes no instances, and resumed after a while.
func (d *drawer) pauses(node string, at, lasts time.Duration) []Action {
	subject := events.CommandRoot + ".node." + node
	return []Action{
		{At: at, Kind: Command, Subject: subject + ".pause", Body: `{}`}, {At: at + lasts, Kind: Command, Subject: subject + ".resume", Body: `{}`},
	}
}

// ends draws nodes that are drained, and nodes that are forgotten.
func (d *drawer) ends() {
	p := d.plan
	for n := d.IntN(5); n > 0; n-- {
		p.Actions = append(p.Actions, d.drains(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
	for n := d.IntN(3); n > 0; n-- {
		p.Actions = append(p.Actions, d.forgets(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
}

// drains draws that a node is drained, and mostly that it is resumed.
func (d *drawer) drains(at time.Duration) []Action {
	const long = 4 * time.Minute
	subject := events.CommandRoot + ".node." + d.node()
	bodies := []string{`{}`, `{"deadline":"1s"}`, `{"deadline":"30s"}`, `{"deadline":"2m"}`, `{"deadline":"5m"}`, `{"deadline":"0s"}`, `{"deadline":"48h"}`}
	actions := []Action{{At: at, Kind: Command, Subject: subject + ".drain", Body: bodies[d.IntN(len(bodies))]}}
	if d.IntN(3) == 0 {
		actions = append(actions, d.drains(at+d.soon(long))...)
	}
	if d.IntN(4) == 0 {
		actions = append(actions, Action{At: at + d.soon(long), Kind: Command, Subject: subject + ".pause", Body: `{}`})
	}
	if d.IntN(5) > 0 {
		actions = append(actions, Action{At: at + d.soon(long), Kind: Command, Subject: subject + ".resume", Body: `{}`})
	}
	return actions
}

// forgets draws that a node is down for long and forgotten. It may come back all the same, with its containers or without.
func (d *drawer) forgets(at time.Duration) []Action {
	const long, away = 3 * time.Minute, 6 * time.Minute
	node := d.node()
	kind := []Kind{HostDown, HostWiped, Freeze, Partition}[d.IntN(4)]
	actions := []Action{{At: at, Kind: kind, Targets: []string{node}, For: 2*time.Minute + d.soon(away), N: d.IntN(1 << 30)}}
	for n := 1 + d.IntN(3); n > 0; n-- {
		actions = append(actions, Action{At: at + d.soon(long), Kind: Command, Subject: events.CommandRoot + ".node." + node + ".forget", Body: `{}`})
	}
	return actions
}

// update draws an operator's overrides of a node's facts, and services that grow at the same time.
func (d *drawer) update(at time.Duration) []Action {
	bodies := []string{
		`{"labels":{"disk":"ssd"}}`, `{"labels":{"disk":"hdd"}}`, `{"without":["disk"]}`,
		fmt.Sprintf(`{"capacity":{"memory":"%dMiB"}}`, 1+d.IntN(8000)), `{"capacity":{}}`, `{"labels":{"disk":"ssd"},"without":["disk"]}`,
	}
	actions := []Action{{
		At: at, Kind: Command, Subject: events.CommandRoot + ".node." + d.node() + ".update", Body: bodies[d.IntN(len(bodies))],
	}}
	const around = 10 * time.Second
	for n := d.IntN(4); n > 0; n-- {
		id, scale := d.service(), 1+d.IntN(3)
		actions = append(actions,
			d.say(at-d.soon(around), id, "ensure", fmt.Sprintf(`{"image":"localhost/a:1","scale":%d,"node_selector":{"disk":"ssd"},"busy":"supersede"}`, scale)),
			d.say(at+d.soon(around), id, "scale", fmt.Sprintf(`{"scale":%d,"busy":"supersede"}`, scale+1+d.IntN(3))))
	}
	return actions
}

// rebalance draws a command that moves instances to other nodes.
func (d *drawer) rebalance(at time.Duration) Action {
	bodies := []string{
		`{}`, fmt.Sprintf(`{"min_gain":%d}`, 1+d.IntN(20)), fmt.Sprintf(`{"max_moves":%d,"min_gain":1}`, 1+d.IntN(2)),
		`{"min_gain":1,"volumes":true}`, `{"when":"node-joins","min_gain":1}`, `{"when":"never"}`, `{"max_moves":0}`,
	}
	return Action{At: at, Kind: Command, Subject: events.CommandRoot + ".cluster.rebalance", Body: bodies[d.IntN(len(bodies))]}
}

// goBack draws commands that wait for each other, restart a service or roll it back.
func (d *drawer) goBack(at time.Duration) []Action {
	const between = 20 * time.Second
	id := d.service()
	var actions []Action
	for n := 1 + d.IntN(5); n > 0; n-- {
		guard := []string{"", `,"busy":"queue"`, `,"busy":"queue"`, `,"busy":"supersede"`}[d.IntN(4)]
		alone := "{" + strings.TrimPrefix(guard, ",") + "}"
		switch d.IntN(8) {
		case 0, 1:
			actions = append(actions, d.say(at, id, "restart", alone))
		case 2:
			actions = append(actions, d.say(at, id, "rollback", alone))
		case 3:
			actions = append(actions, d.say(at, id, "rollback", fmt.Sprintf(`{"to":%d%s}`, 1+d.IntN(6), guard)))
		case 4:
			actions = append(actions, d.say(at, id, "cancel", `{}`))
		case 5:
			actions = append(actions, d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d%s}`, d.IntN(7), guard)))
		case 6:
			actions = append(actions, d.say(at, id, "ensure", d.spec(guard)))
		case 7:
			actions = append(actions, d.say(at, id, "scale", fmt.Sprintf(`{"scale":%d,"if_seq":%d%s}`, d.IntN(7), 1+d.IntN(5000), guard)))
		}
		at += d.soon(between)
	}
	return actions
}

// asOf draws commands that wait for each other. Each names an earlier sequence in if_seq than the command ahead of it, so the sender of the
// last accepted ones has not seen the changes of those ahead. Early in a run the log is short, and the coordinator accepts some of them.
func (d *drawer) asOf(at time.Duration) []Action {
	const most, apart = 14, 60
	id := d.service()
	actions := []Action{d.say(at, id, "ensure", d.spec(`,"busy":"queue"`))}
	for n := most; n > 0; n-- {
		at += d.soon(100 * time.Millisecond)
		body := fmt.Sprintf(`{"scale":%d,"busy":"queue","if_seq":%d}`, d.IntN(7), (n-1)*apart+1+d.IntN(apart))
		actions = append(actions, d.say(at, id, "scale", body))
	}
	return actions
}

// say draws the form of the command: bare JSON, or a CloudEvent in binary or structured mode.
func (d *drawer) say(at time.Duration, id events.ServiceID, verb, body string) Action {
	return d.send(Action{At: at, Kind: Command, Subject: events.CommandSubject(id, verb), Body: body}, "io.rookery.service.v1."+verb)
}

func (d *drawer) send(a Action, typ string) Action {
	d.ids++
	name, body := fmt.Sprintf("c%d", d.ids), a.Body
	switch d.IntN(3) {
	case 0:
		a.Header = map[string]string{
			"ce-specversion": "1.0", "ce-id": name, "ce-source": "/people/one", "ce-type": typ,
		}
	case 1:
		a.Header = map[string]string{"Content-Type": "application/cloudevents+json"}
		a.Body = fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/people/two","type":%q,"datacontenttype":"application/json","data":%s}`,
			name, typ, body)
	}
	d.said = append(d.said, a)
	return a
}

// again repeats an earlier command: unchanged, or with another body under the same id.
func (d *drawer) again(at time.Duration) []Action {
	if len(d.said) == 0 {
		return nil
	}
	recent := min(len(d.said), 20)
	a := d.said[len(d.said)-1-d.IntN(recent)]
	a.At = at
	if d.IntN(3) == 0 {
		a.Body = strings.ReplaceAll(a.Body, `"scale":`, `"scale":1`)
	}
	return []Action{a}
}

// nonsense draws a message that the coordinator must reject.
func (d *drawer) nonsense(at time.Duration) Action {
	a := d.sensible(at)
	switch d.IntN(9) {
	case 0:
		a.Body = a.Body[:d.IntN(len(a.Body))]
	case 1:
		a.Body = `{"scale":-1}`
	case 2:
		a.Body = `{"image":"x","scal":3}`
	case 3:
		a.Subject = "rookery.cmd.service.demo.web.explode"
	case 4:
		a.Subject = "rookery.cmd.anything"
	case 5:
		a.Body = strings.Repeat("[", 5000)
	case 6:
		a.Body, a.Raw = "", []byte{0xff, 0xfe, 0}
	case 7:
		a.Body = `{"image":"a","image":"b"}`
	case 8:
		a.Subject = "rookery.cmd.service.DEMO.web.ensure"
	}
	return a
}
