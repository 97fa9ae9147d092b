package main

import (
	"io/fs"
	"os"
	"testing"

	"github.com/rookery-project/rookery/schemas"
)

func TestSchemasAreWhatTheTypesSay(t *testing.T) {
	t.Chdir("../..")
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(schemas.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		got, err := schemas.Files.ReadFile(path)
		if err != nil {
			return err
		}
		switch body, ok := want[path]; {
		case lifted(target + "/" + path):
		case !ok:
			t.Errorf("%s is the schema of no message: run go generate ./schemas", path)
		case string(body) != string(got):
			t.Errorf("%s is stale: run go generate ./schemas", path)
		}
		delete(want, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(target + "/" + reference); err != nil || string(got) != string(want[reference]) {
		t.Errorf("%s is stale: run go generate ./schemas (%v)", reference, err)
	}
	delete(want, reference)
	for path := range want {
		t.Errorf("%s is missing: run go generate ./schemas", path)
	}
}
