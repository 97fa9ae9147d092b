package events

import (
	"strings"
	"testing"
)

func TestServicesAreReadAsTheCoordinatorReadsThem(t *testing.T) {
	services, err := ParseServices("demo", []byte(`{"web":{"image":"web:1","scale":2},"db":{"image":"db:1"}}`))
	if err != nil || len(services) != 2 {
		t.Fatalf("%+v, %v", services, err)
	}
	if web := services["web"]; web.Image != "web:1" || *web.Scale != 2 || web.StopGrace != DefaultStopGrace {
		t.Errorf("web is %+v", web)
	}
	if none, err := ParseServices("demo", []byte(`{}`)); err != nil || len(none) != 0 {
		t.Errorf("no services: %+v, %v", none, err)
	}
}

func TestServicesThatBreakARuleAreNamedWithTheirField(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"nothing", ``, "not a JSON object"},
		{"a list", `[]`, "not a JSON object"},
		{"a service twice", `{"web":{"image":"a"},"web":{"image":"b"}}`, `the key "web" appears twice`},
		{"what goes on", `{} {}`, "not JSON"},
		{"an unknown field", `{"web":{"imag":"a"}}`, `web.imag: there is no field "imag": did you mean "image"?`},
		{"a name of another tool", `{"web":{"image":"a","replicas":3}}`, `web.replicas: there is no field "replicas": did you mean "scale"?`},
		{"one deeper", `{"web":{"image":"a","ports":[{"nam":"http"}]}}`, `web.ports[0].nam: there is no field "nam": did you mean "name"?`},
		{"a missing field", `{"web":{}}`, "web.image: image is missing"},
		{"a value", `{"web":{"image":"a","stop_grace":"2h"}}`, "web.stop_grace: stop_grace 2h0m0s is not between"},
		{"no object", `{"image":"localhost/web:1"}`, "image: the body is not a JSON object"},
		{"a name", `{"Web":{"image":"a"}}`, `Web: name "Web" is not a name`},
		{"a name with a point", `{"a.b":{"image":"a"}}`, `a.b: name "a.b" is not a name`},
		{"a null", `{"web":null}`, "web: the body is not a JSON object"},
		{"a template", `{"web":{"image":"a","args":["{{.Address \"http\"}}"]}}`, "web.args[0]: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseServices("demo", []byte(c.body))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	_, err := ParseServices("demo", []byte(`{"a":{"imag":"a"},"b":{"image":"b"},"c":{}}`))
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two services are wrong, and one is not: %v", err)
	}
}
