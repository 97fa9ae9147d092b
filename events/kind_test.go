package events

import "testing"

func TestKindsReadBack(t *testing.T) {
	seen := map[string]bool{}
	for _, sample := range Samples() {
		kind := sample.Kind()
		if got, ok := ParseKind(kind.String()); !ok || got != kind {
			t.Errorf("%s reads as %+v, %v", kind, got, ok)
		}
		if seen[kind.SchemaPath()] {
			t.Errorf("two kinds have their schema at %s", kind.SchemaPath())
		}
		seen[kind.SchemaPath()] = true
	}
	kind := InstancePlaced{}.Kind()
	if kind.String() != "io.rookery.instance.v1.placed" || kind.Word() != "instance.placed" || kind.SchemaPath() != "instance/v1/placed.json" {
		t.Errorf("got %s, %s, %s", kind, kind.Word(), kind.SchemaPath())
	}
}

func TestKindsOfOthers(t *testing.T) {
	for _, s := range []string{
		"", "io.rookery.", "io.rookery.service", "io.rookery.service.v1", "io.rookery.service.v1.", "io.rookery..v1.scale",
		"io.rookery.service.1.scale", "io.rookery.service.v.scale", "io.rookery.service.v0.scale", "io.rookery.service.v-1.scale",
		"io.rookery.service.v01.scale", "io.rookery.service.v+1.scale", "io.rookery.service.v1x.scale",
		"io.rookery.service.v99999999999999999999.scale", "com.example.service.v1.scale", "IO.ROOKERY.service.v1.scale",
	} {
		if kind, ok := ParseKind(s); ok {
			t.Errorf("%q reads as %+v", s, kind)
		}
	}
}
