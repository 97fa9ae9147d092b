package image_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/deploy/image"
)

func TestArchiveHoldsManifestConfigAndLayer(t *testing.T) {
	archive, err := image.Archive("localhost/web:1", "arm64", []byte("binary"), "/bin/web", "-x")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Name == "manifest.json" && !strings.Contains(string(body), `"localhost/web:1"`) {
			t.Errorf("the manifest has no reference: %s", body)
		}
		if strings.HasSuffix(header.Name, ".json") && header.Name != "manifest.json" && !strings.Contains(string(body), `"architecture":"arm64"`) {
			t.Errorf("the config has another architecture: %s", body)
		}
	}
	if len(names) != 3 || !slices.Contains(names, "manifest.json") {
		t.Errorf("the archive holds %q, want a manifest, a config and a layer", names)
	}
	again, err := image.Archive("localhost/web:1", "arm64", []byte("binary"), "/bin/web", "-x")
	if err != nil || !bytes.Equal(archive, again) {
		t.Errorf("the same input gave another archive (%v)", err)
	}
}

func TestArchiveWantsAnAbsolutePath(t *testing.T) {
	for _, entrypoint := range [][]string{nil, {"web"}} {
		if _, err := image.Archive("localhost/web:1", "arm64", nil, entrypoint...); err == nil {
			t.Errorf("Archive with the entry point %q gave no error", entrypoint)
		}
	}
}
