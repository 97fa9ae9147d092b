package api

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Addresses is the answer to the question `addresses`.
type Addresses struct {
	Service string `json:"service"`
	Port    string `json:"port"`
	// Slots are in the order of their ordinals, from 0, without a gap.
	Slots []SlotAddress `json:"slots"`
	// LogSequence is the place in the log that the answer is true at.
	LogSequence uint64 `json:"log_sequence"`
}

// SlotAddress is where a port of a slot is reached.
type SlotAddress struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation,omitzero"`
	// Address is host:port; "" while the slot has no instance, or one of a revision without the port.
	Address string `json:"address"`
	// Online says that the instance serves.
	Online bool `json:"online"`
}

// AddressesQuestion asks where a port of a service is reached.
type AddressesQuestion struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Port is its name in the spec.
	Port string `json:"port"`
}

func (s *Server) askAddresses(ctx context.Context, body []byte) (answer []byte, err error) {
	var q AddressesQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || !events.ValidName(q.Namespace) || !events.ValidName(q.Name) || q.Port == "" {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"namespace":"demo","name":"web","port":"http"}`}
	}
	asked := s.State(ctx, func(c *projections.Cluster, _ bool) {
		answer, err = addresses(c, events.ServiceID{Namespace: q.Namespace, Name: q.Name}, q.Port, within(ctx))
	})
	return answer, errors.Join(asked, err)
}

func addresses(c *projections.Cluster, id events.ServiceID, port, within string) ([]byte, error) {
	s := c.Services[id]
	if s == nil || s.Revision == 0 {
		return nil, &bus.QuestionError{Code: 404, Reason: c.NoService(id.String(), within)}
	}
	var known []string
	for _, p := range s.Current().Spec.Ports {
		known = append(known, p.Name)
	}
	if !slices.Contains(known, port) {
		return nil, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("service %s has no port %q: it has %s", id, port, listed(known))}
	}
	a := Addresses{Service: id.String(), Port: port, Slots: []SlotAddress{}, LogSequence: c.Sequence}
	for o := range s.Ordinals() {
		if !s.Wants(o) {
			continue
		}
		slot := SlotAddress{Ordinal: o}
		if int(o) < len(s.Slots) && s.Slots[o].Current != nil {
			slot.fill(s.Slots[o].Current, port)
		}
		a.Slots = append(a.Slots, slot)
	}
	return json.Marshal(a)
}

func (a *SlotAddress) fill(i *projections.Instance, port string) {
	a.Generation, a.Online = i.ID.Generation, i.Seen.Phase == events.PhaseOnline && !i.Lost
	for _, p := range i.Ports {
		if p.Name == port {
			a.Address = hostPort(i.Address, p.HostPort)
		}
	}
}

// hostPort joins both, with the brackets of an IPv6 address.
func hostPort(host string, port uint16) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return netip.AddrPortFrom(ip, port).String()
	}
	return host + ":" + strconv.Itoa(int(port))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
