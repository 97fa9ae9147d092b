package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rookery-project/rookery/deploy/grafana/screens"
)

func TestFilesAreWhatTheScreensSay(t *testing.T) {
	want, err := screens.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range want {
		got, err := os.ReadFile("../" + name)
		if err != nil {
			t.Errorf("%v: run make dashboards", err)
		} else if string(got) != string(body) {
			t.Errorf("%s is stale: run make dashboards", name)
		}
	}
	for _, pattern := range []string{"../*.json", "../*.yaml"} {
		standing, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range standing {
			if want[filepath.Base(path)] == nil {
				t.Errorf("make dashboards does not write %s: remove it, or add it to the screens", path)
			}
		}
	}
}
