package events

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Limits on the templates of one instance, all together. They hold for every instance of a service at its scale.
const (
	MaxRendered = 64 << 10 // bytes that templates may make, with addresses as long as an IP address and its port can be
	MaxSteps    = 20_000   // what templates may do: a call, a piece of text, an address of a peer is one step
)

// Assigned is what the templates of an instance's spec are rendered over: who the instance is, and the addresses that
// are known when its order is written.
type Assigned struct {
	Instance InstanceID
	Own      Addresses
	// Scale counts the service's slots. Slot returns where the instance in one of them is reached; nothing where the
	// slot has none.
	Scale uint32
	Slot  func(ordinal uint32) Addresses
}

// Templated reports whether the spec has a template. One that has none is rendered for nothing.
func (s Spec) Templated() bool {
	for _, p := range s.programs() {
		if slices.ContainsFunc(p.command, isTemplate) || slices.ContainsFunc(p.args, isTemplate) {
			return true
		}
		for _, value := range p.env {
			if isTemplate(value) {
				return true
			}
		}
	}
	return false
}

// Render returns the spec with the text that its templates make for one instance in their place: each stays the one
// argument or variable that it is. A spec whose templates break a rule is returned as it is: those of logs from before
// there were templates mean what is written.
func (s Spec) Render(a Assigned) Spec {
	if !s.Templated() {
		return s
	}
	made, err := s.compile(int64(a.Scale))
	if err != nil {
		return s
	}
	value := newTemplateValue(a)
	s.Command, s.Args, s.Env = made.list(s.Command, value), made.list(s.Args, value), made.env(s.Env, value)
	if s.Init != nil {
		c := *s.Init
		c.Command, c.Args, c.Env = made.list(c.Command, value), made.list(c.Args, value), made.env(c.Env, value)
		s.Init = &c
	}
	s.Sidecars = slices.Clone(s.Sidecars)
	for i := range s.Sidecars {
		c := &s.Sidecars[i]
		c.Command, c.Args, c.Env = made.list(c.Command, value), made.list(c.Args, value), made.env(c.Env, value)
	}
	return s
}

// CheckScale returns a *Rejection where the spec's templates would make or do too much with this many slots, or its
// topology or its snapshots have too many.
func (s Spec) CheckScale(scale uint32) error {
	if err := s.checkTopologyScale(scale); err != nil {
		return err
	}
	if err := s.checkSnapshotScale(scale); err != nil {
		return err
	}
	if !s.Templated() || s.checkTemplates() != nil {
		return nil
	}
	var rejection *Rejection
	if _, err := s.compile(int64(scale)); errors.As(err, &rejection) {
		return Reject(rejection.Code, "scale", "scale %d is too much for the templates: %s", scale, rejection.Reason)
	}
	return nil
}

// checkTemplates returns a *Rejection that names the first template which breaks a rule at any scale. They are rendered
// once with made-up addresses: what rendering could find wrong is found here, too.
func (s Spec) checkTemplates() error {
	if !s.Templated() {
		return nil
	}
	made, err := s.compile(1)
	if err != nil {
		return err
	}
	bindings := make([]PortBinding, 0, len(s.Ports))
	for _, p := range s.Ports {
		bindings = append(bindings, PortBinding{Name: p.Name, HostPort: p.Port})
	}
	example := Addresses{Host: "192.0.2.1", Ports: bindings}
	value := newTemplateValue(Assigned{Own: example, Scale: 1, Slot: func(uint32) Addresses { return example }})
	for _, p := range s.programs() {
		for field, text := range p.texts() {
			if t := made[text]; t != nil {
				if err := t.Execute(io.Discard, value); err != nil {
					return Reject(CodeInvalidValue, field, "%s does not render: %s", field, plainError(err))
				}
			}
		}
	}
	return nil
}

// compile reads every template of the spec, and holds them to the rules and limits that they have with so many slots.
func (s Spec) compile(scale int64) (compiled, error) {
	made, reader := compiled{}, templateReader{ports: s.Ports, scale: scale}
	for _, p := range s.programs() {
		for field, text := range p.texts() {
			if !isTemplate(text) {
				continue
			}
			t, err := reader.read(field, text)
			if err != nil {
				return nil, err
			}
			made[text] = t
		}
	}
	return made, nil
}

// isTemplate reports whether the text is more than what it says.
func isTemplate(text string) bool { return strings.Contains(text, templateBegins) }

// templated is a part of a spec whose texts are templates.
type templated struct {
	field   string // "", or as in "init."
	command []string
	args    []string
	env     map[string]string
}

func (s Spec) programs() []templated {
	all := []templated{{"", s.Command, s.Args, s.Env}}
	if s.Init != nil {
		all = append(all, templated{"init.", s.Init.Command, s.Init.Args, s.Init.Env})
	}
	for i, c := range s.Sidecars {
		all = append(all, templated{fmt.Sprintf("sidecars[%d].", i), c.Command, c.Args, c.Env})
	}
	return all
}

// texts yields every text with the path of its field, in an order that does not change.
func (p templated) texts() iter.Seq2[string, string] {
	return func(yield func(field, text string) bool) {
		for i, text := range p.command {
			if !yield(fmt.Sprintf("%scommand[%d]", p.field, i), text) {
				return
			}
		}
		for i, text := range p.args {
			if !yield(fmt.Sprintf("%sargs[%d]", p.field, i), text) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.env)) {
			if !yield(p.field+"env."+printable(name), p.env[name]) {
				return
			}
		}
	}
}
