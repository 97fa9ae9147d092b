package events

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// group returns a command in which each service comes after those named behind its colon: "web:db,cache db cache".
func group(text string) GroupEnsure {
	c := GroupEnsure{Services: map[string]GroupMember{}}
	for _, each := range strings.Fields(text) {
		name, after, _ := strings.Cut(each, ":")
		m := GroupMember{Spec: Spec{Image: "i"}}
		if after != "" {
			m.After = strings.Split(after, ",")
		}
		c.Services[name] = m
	}
	return c
}

func TestLevelsComeAfterWhatTheyName(t *testing.T) {
	for text, want := range map[string]string{
		"web":                             "[[web]]",
		"web db":                          "[[db web]]",
		"web:db db":                       "[[db] [web]]",
		"web:db,cache db cache:disk disk": "[[db disk] [cache] [web]]",
		"a:b b:c c:d d":                   "[[d] [c] [b] [a]]",
		"top:left,right left:low right:low low alone": "[[alone low] [left right] [top]]",
	} {
		levels, circle := group(text).Levels()
		if got := fmt.Sprint(levels); got != want || circle != nil {
			t.Errorf("%s has levels %s and circle %v, want %s", text, got, circle, want)
		}
	}
}

func TestACircleIsNamed(t *testing.T) {
	for text, want := range map[string][]string{
		"a:b b:a":               {"a", "b"},
		"web:a a:b b:c c:b low": {"b", "c"},
		"a:b,d b:c c:a d":       {"a", "b", "c"},
	} {
		if levels, circle := group(text).Levels(); levels != nil || !reflect.DeepEqual(circle, want) {
			t.Errorf("%s has levels %v and circle %v, want %v", text, levels, circle, want)
		}
	}
}

func TestAGroupIsRefusedWithTheServiceThatIsWrong(t *testing.T) {
	const subject = "rookery.cmd.group.demo.shop.ensure"
	var many []string
	for i := range MaxMembers + 1 {
		many = append(many, fmt.Sprintf(`"s%d":{"image":"i"}`, i))
	}
	for body, want := range map[string]struct {
		code  Code
		field string
		says  string
	}{
		`{}`:              {CodeMissingField, "services", "is empty"},
		`{"services":{}}`: {CodeMissingField, "services", "is empty"},
		`{"services":{` + strings.Join(many, ",") + `}}`:                                       {CodeOutOfRange, "services", "33 services"},
		`{"services":{"Web":{"image":"i"}}}`:                                                   {CodeInvalidName, "services", `"Web"`},
		`{"services":{"web":{}}}`:                                                              {CodeMissingField, "services.web.image", "services.web: "},
		`{"services":{"web":{"image":"i","scale":-1}}}`:                                        {CodeOutOfRange, "services.web.scale", "services.web: "},
		`{"services":{"web":{"image":"i","mode":"global","scale":1}}}`:                         {CodeInvalidValue, "services.web.scale", "global"},
		`{"services":{"web":{"image":"i","mode":"job"}}}`:                                      {CodeInvalidValue, "services.web.mode", "job"},
		`{"services":{"web":{"image":"i","after":["web"]}}}`:                                   {CodeInvalidValue, "services.web.after", "itself"},
		`{"services":{"web":{"image":"i","after":["db"]}}}`:                                    {CodeInvalidValue, "services.web.after", `"db"`},
		`{"services":{"web":{"image":"i","after":["db","db"]},"db":{"image":"i"}}}`:            {CodeInvalidValue, "services.web.after", "twice"},
		`{"services":{"web":{"image":"i","after":["db"]},"db":{"image":"i","after":["web"]}}}`: {CodeInvalidValue, "services.db.after", "db after web after db"},
		`{"services":{"web":{"image":"i","busy":"queue"}}}`:                                    {CodeUnknownField, "services.web.busy", "busy"},
		`{"services":{"web":{"image":"i"}},"busy":"queue"}`:                                    {CodeInvalidValue, "busy", "queue"},
		`{"services":{"web":{"image":"i"}},"busy":"later"}`:                                    {CodeInvalidValue, "busy", "later"},
	} {
		r := ParseRequest(bare(subject, body))
		if r.Rejection == nil {
			t.Errorf("%s is taken", body)
			continue
		}
		wantRejection(t, r.Rejection, want.code, want.field, want.says)
	}
}

// TestTheSpecsOfAGroupHaveTheirDefaults holds members of a group to become what they would as services alone.
func TestTheSpecsOfAGroupHaveTheirDefaults(t *testing.T) {
	c := GroupEnsure{Services: map[string]GroupMember{"web": {Spec: Spec{Image: "i"}, After: []string{}}}}
	m := c.normal().(GroupEnsure).Services["web"]
	if m.StopGrace != DefaultStopGrace || m.After != nil {
		t.Errorf("a member of the group is %+v", m)
	}
	if c.Services["web"].StopGrace != 0 {
		t.Error("the command that was sent has changed")
	}
}
