package rookerytest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/simulated"
)

// pace is a steady stream of commands.
type pace struct {
	inProcess bool
	mute      bool // the nodes act on no order and say nothing
	services  int
	rate      int // a second
	count     int
}

// instanceOrders matches the live orders, and not the leader's mark.
const instanceOrders = events.OrderRoot + ".*.*.>"

// BenchmarkCommandToOrder measures the time from before a command is published until its order arrives at a plain
// subscriber, beside two bare hops: the same messages from stream to reader to stream to subscriber. Ours stores three
// times, in COMMANDS, LOG and ORDERS, and the bare thing twice.
func BenchmarkCommandToOrder(b *testing.B) {
	for _, p := range []pace{
		{services: 20, rate: 200, count: 2000},
		{services: 20, rate: 200, count: 1000, inProcess: true},
		{services: 20, rate: 200, count: 1000, mute: true},
		{services: 200, rate: 1000, count: 3000, mute: true},
	} {
		b.Run(p.String(), func(b *testing.B) {
			for b.Loop() {
				ours, order := p.ours(b)
				latencies(b, ours, p.bare(b, order))
			}
		})
	}
}

// String names the benchmark.
func (p pace) String() string {
	way, nodes := "TCP", ""
	if p.inProcess {
		way = "in-process"
	}
	if p.mute {
		nodes = ",mute-nodes"
	}
	return fmt.Sprintf("%s,%d-a-second%s", way, p.rate, nodes)
}

// ours also returns one of the orders.
func (p pace) ours(b *testing.B) ([]time.Duration, events.Message) {
	h := newHouse(b, p.inProcess)
	defer h.close()
	client := h.connect()
	const nodes = 3
	joined := joining(b, client, nodes)
	h.coordinator(time.Hour)
	for i := range nodes {
		if p.mute {
			h.hello(client, nodeName(i))
			continue
		}
		h.node(nodeName(i), simulated.New(facts(20_000).Capacity), 20_000)
	}
	joined()
	orders := subscribe(b, client, instanceOrders)
	for i := range p.services {
		command(b, client, serviceName(i), "ensure", `{"image":"localhost/web:1","scale":1,"ports":[{"name":"http","port":8080}]}`)
	}
	for range p.services {
		receive(b, orders)
	}
	scale := make([]int, p.services)
	var sample events.Message
	took := p.run(b, orders, func(i int) {
		scale[i] = (scale[i] + 1) % 2 // up and down again
		body := fmt.Sprintf(`{"scale":%d,"busy":"supersede"}`, scale[i]+1)
		command(b, client, serviceName(i), "scale", body)
	}, func(m events.Message) string {
		_, id, order, err := events.ParseOrder(m)
		if err != nil {
			b.Fatal(err)
		}
		switch order.Action {
		case events.ActionRun:
			sample = m
		case events.ActionStop:
		case events.ActionForget:
			return ""
		}
		return id.Service.Name
	})
	return took, again(sample)
}

func (p pace) bare(b *testing.B, order events.Message) []time.Duration {
	h := newHouse(b, p.inProcess)
	defer h.close()
	client, hop := h.connect(), h.connect()
	reader, err := hop.Read(b.Context(), bus.Commands, 1)
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for m := range reader.Messages() {
			order.Subject = events.OrdersRoot + ".node-0." + m.Subject
			if err := hop.Send(order); err != nil {
				b.Error(err)
			}
		}
	}()
	defer func() {
		reader.Stop()
		<-ended
	}()
	orders := subscribe(b, client, instanceOrders)
	prefix := len(events.OrderRoot + ".node-0." + events.CommandRoot + ".service.demo.")
	return p.run(b, orders, func(i int) {
		command(b, client, serviceName(i), "scale", `{"scale":2,"busy":"supersede"}`)
	}, func(m events.Message) string {
		return m.Subject[prefix : len(m.Subject)-len(".scale")]
	})
}

// run sends for one service after the other, at a steady pace, and returns how long each time the message took that
// answers it. A service whose answer is still on its way is passed over.
func (p pace) run(b *testing.B, answers <-chan events.Message, send func(service int), of func(events.Message) string) []time.Duration {
	b.Helper()
	ticker := time.NewTicker(time.Second / time.Duration(p.rate))
	defer ticker.Stop()
	deadline := time.After(benchPatience)
	sent := map[string]time.Time{}
	took := make([]time.Duration, 0, p.count)
	for i := 0; len(took) < p.count; i++ {
		select {
		case <-ticker.C:
			name := serviceName(i % p.services)
			if _, waits := sent[name]; waits || len(took)+len(sent) == p.count {
				continue
			}
			sent[name] = time.Now()
			send(i % p.services)
		case m := <-answers:
			i--
			now := time.Now()
			name := of(m)
			if began, waits := sent[name]; waits {
				took = append(took, now.Sub(began))
				delete(sent, name)
			}
		case <-deadline:
			b.Fatalf("gave up: %d of %d answers came", len(took), p.count)
		}
	}
	return took
}
