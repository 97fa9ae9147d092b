package events

import (
	"slices"
	"strings"
	"testing"
)

func TestChainChangesOnAnyChangedByte(t *testing.T) {
	r := Record{Event: Event{Scope: ServiceScope(web), Data: ServiceScaled{Scale: 5}, Cause: attributes.Cause}, Sequence: 44, Time: moment}
	original, err := r.Message("log")
	if err != nil {
		t.Fatal(err)
	}
	want := Chain{}.Extend(original)
	check := func(what string, changed Message) {
		if (Chain{}).Extend(changed) == want {
			t.Errorf("the chain is the same after a change of %s", what)
		}
	}
	for i := range original.Body {
		changed := original
		changed.Body = slices.Clone(original.Body)
		changed.Body[i] ^= 1
		check("the body", changed)
	}
	for i := range original.Subject {
		changed := original
		changed.Subject = original.Subject[:i] + "x" + original.Subject[i+1:]
		if changed.Subject != original.Subject {
			check("the subject", changed)
		}
	}
	for _, name := range []string{"ce-type", "ce-time", "ce-correlationid", "ce-causationid", "ce-traceparent"} {
		for _, value := range [][]string{nil, {original.Header.Get(name) + "0"}} {
			changed := original
			changed.Header = Header{}
			for n, v := range original.Header {
				changed.Header[n] = v
			}
			changed.Header[name] = value
			check(name, changed)
		}
	}
	for i := range want {
		before := Chain{}
		before[i] = 1
		if before.Extend(original) == want {
			t.Error("the chain does not depend on the one before")
		}
	}
}

func TestChainDependsOnTheOrder(t *testing.T) {
	a, b := Message{Subject: "a"}, Message{Subject: "b"}
	if (Chain{}).Extend(a).Extend(b) == (Chain{}).Extend(b).Extend(a) {
		t.Error("two messages in another order give the same chain")
	}
	if (Chain{}).Extend(Message{Subject: "ab"}) == (Chain{}).Extend(Message{Subject: "a", Body: []byte("b")}) {
		t.Error("a byte can move from the subject to the body")
	}
}

func TestChainsReadBack(t *testing.T) {
	want := Chain{}.Extend(Message{Subject: "a"})
	text, err := want.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var got Chain
	if err := got.UnmarshalText(text); err != nil || got != want {
		t.Errorf("%s reads as %s, %v", text, got, err)
	}
	for _, bad := range []string{"", "ab", string(text[:63]), string(text) + "00", strings.Repeat("x", 64)} {
		wantRejection(t, got.UnmarshalText([]byte(bad)), CodeInvalidValue, "", "SHA-256")
	}
}
