package world

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// users lets the bus of some plans know its users. An operator then makes tokens and admits and revokes nodes that are not of the plan. Programs of
// level 0 know no users, so that no such plan has other versions.
func (d *drawer) users() {
	const sequence, share, names, mean = 1200, 4, 4, 12 * time.Minute
	d.Rand = rand.New(rand.NewPCG(d.plan.Seed, sequence))
	if d.IntN(share) > 0 || d.plan.changesVersions() {
		return
	}
	d.plan.Accounts = true
	for at := d.soon(mean); at < d.plan.Lasts; at += d.soon(mean) {
		node := fmt.Sprintf(".node.elsewhere-%d.", d.IntN(names))
		key := "U" + strings.Repeat(string(rune('A'+d.IntN(2*names))), 55)
		for _, c := range []struct{ command, body string }{
			{".cluster.create-token", fmt.Sprintf(`{"id":"t-%d","uses":%d}`, d.IntN(names), 1+d.IntN(names))},
			{node + "admit", fmt.Sprintf(`{"key":%q,"token":"t-%d"}`, key, d.IntN(names))},
			{node + "revoke", `{}`},
		} {
			if d.IntN(2) == 0 {
				d.plan.Actions = append(d.plan.Actions, Action{
					At: at + d.soon(time.Minute), Kind: Command, Subject: events.CommandRoot + c.command, Body: c.body,
				})
			}
		}
	}
}
