package compose

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// TestExamplesAreCarriedAsAWhole checks that every example uses supported keys only, and gives specs that the coordinator accepts.
func TestExamplesAreCarriedAsAWhole(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/examples/compose/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v: there are %d examples", err, len(files))
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(t.Context(), []File{{Name: file, Body: body}}, "")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		p := s.Project()
		for _, i := range p.Refused {
			t.Error(i)
		}
		services, err := json.Marshal(p.Services)
		if err != nil {
			t.Fatal(err)
		}
		if all, err := events.ParseServices(p.Name, services); err != nil || len(all) < 2 {
			t.Errorf("%s: %d services, and %v", file, len(all), err)
		}
	}
}
