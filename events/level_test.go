package events

import "testing"

func TestProgramsSayWhatTheyAre(t *testing.T) {
	for _, p := range []Program{
		{}, {Version: "v0.3.1"}, {Levels: Levels{Most: 1}}, {Version: "v0.3.1", Levels: Levels{Least: 2, Most: 7}},
	} {
		sent := attributes
		sent.Program = p
		m, err := Encode("a.subject", NodeListed{Epoch: 1}, sent)
		if err != nil {
			t.Fatal(err)
		}
		if _, of, err := Decode(m); err != nil || of.Program != p {
			t.Errorf("%+v arrives as %+v, %v", p, of.Program, err)
		}
	}
}

func TestLevelsThatAreNotLevels(t *testing.T) {
	for _, s := range []string{"1", "-", "-1", "1-", "1-x", "2-1", "0-4294967296", "0-1-2", " 0-1"} {
		if l, err := ParseLevels(s); err == nil {
			t.Errorf("%q reads as %s", s, l)
		}
	}
}

func TestAdviceFollowsTheLevel(t *testing.T) {
	l := Levels{Least: 2, Most: 4}
	for level, want := range map[Level]string{
		1: "run an older version until `rookery cluster finish-upgrade` has raised the level of the cluster: it works at levels from 2 on, and the cluster is at level 1",
		2: "", 4: "",
		5: "upgrade it: it works at levels up to 4, and the cluster is at level 5",
	} {
		if got := l.Advice(level); got != want || l.Hold(level) != (want == "") {
			t.Errorf("at level %d: %q", level, got)
		}
	}
}
