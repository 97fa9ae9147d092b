package events

import (
	"strconv"
	"strings"
	"text/template"
)

// Addresses is where the ports of one instance are reached. The zero value is of one that is nowhere.
type Addresses struct {
	// Host is the node's address: an IP address or a name.
	Host  string
	Ports []PortBinding
}

// Of returns the address of the port with this name, as in 10.0.0.7:20000 or [fd00::7]:20000, or "" where there is none.
func (a Addresses) Of(port string) string {
	for _, p := range a.Ports {
		if p.Name != port {
			continue
		}
		number := strconv.FormatUint(uint64(p.HostPort), 10)
		if strings.Contains(a.Host, ":") {
			return "[" + a.Host + "]:" + number
		}
		return a.Host + ":" + number
	}
	return ""
}

// templateValue is the dot of a template. Its fields and methods are what templates can name; templateFields lists the same. Numbers are
// int: text/template compares and passes on no other type of number together with its own.
type templateValue struct {
	Namespace  string
	Service    string
	Ordinal    int
	Generation int

	assigned Assigned
}

func newTemplateValue(a Assigned) templateValue {
	return templateValue{
		Namespace: a.Instance.Service.Namespace, Service: a.Instance.Service.Name,
		Ordinal: int(a.Instance.Ordinal), Generation: int(a.Instance.Generation), assigned: a,
	}
}

// Address returns the instance's own address of the port.
func (v templateValue) Address(port string) string { return v.assigned.Own.Of(port) }

// Peers returns the address of the port of every slot's instance, in the order of ordinals, its own among them. It is
// "" for a slot that has no instance: so an index is an ordinal.
func (v templateValue) Peers(port string) []string {
	peers := make([]string, v.assigned.Scale)
	for i := range peers {
		peers[i] = v.assigned.Slot(uint32(i)).Of(port)
	}
	return peers
}

// Peer returns the address of the port of one slot's instance, or "" where that has none.
func (v templateValue) Peer(port string, ordinal int) string {
	if int64(ordinal) >= int64(v.assigned.Scale) {
		return ""
	}
	return v.assigned.Slot(uint32(ordinal)).Of(port)
}

// compiled holds the templates of a spec by their text.
type compiled map[string]*template.Template

// text returns what the template makes. It returns a text without a template as it is.
func (c compiled) text(text string, value templateValue) string {
	t := c[text]
	if t == nil {
		return text
	}
	var b strings.Builder
	if err := t.Execute(&b, value); err != nil {
		return text // not after the check: it finds whatever could fail
	}
	return b.String()
}

func (c compiled) list(texts []string, value templateValue) []string {
	if texts == nil {
		return nil
	}
	made := make([]string, len(texts))
	for i, text := range texts {
		made[i] = c.text(text, value)
	}
	return made
}

func (c compiled) env(variables map[string]string, value templateValue) map[string]string {
	if variables == nil {
		return nil
	}
	made := make(map[string]string, len(variables))
	for name, text := range variables {
		made[name] = c.text(text, value)
	}
	return made
}
