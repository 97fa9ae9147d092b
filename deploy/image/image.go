// Package image makes container images from static binaries, without a builder, a registry or a base image.
//
// It owns the archive's bytes and touches nothing else: the same input gives the same archive, and so the same image.
//
//	archive, err := image.Archive("localhost/web:1", runtime.GOARCH, binary, "/web")
//	err = engine.Load(ctx, bytes.NewReader(archive)) // or: podman load
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// file is one file of a tar archive.
type file struct {
	name string
	mode int64
	body []byte
}

type config struct {
	Architecture string        `json:"architecture"`
	OS           string        `json:"os"`
	Created      string        `json:"created"`
	Config       configProcess `json:"config"`
	RootFS       rootFS        `json:"rootfs"`
}

type configProcess struct {
	Entrypoint []string
	Env        []string
	WorkingDir string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Archive returns a docker-archive of an image named reference. The image holds the static binary, at the path that
// the entry point begins with, and nothing else. The architecture is one of Go's GOARCH.
func Archive(reference, architecture string, binary []byte, entrypoint ...string) ([]byte, error) {
	if len(entrypoint) == 0 || !strings.HasPrefix(entrypoint[0], "/") {
		return nil, errors.New("the entry point must begin with the absolute path of the binary in the image")
	}
	layer, err := pack(file{name: strings.TrimPrefix(entrypoint[0], "/"), mode: 0o755, body: binary})
	if err != nil {
		return nil, fmt.Errorf("packing the layer of %s: %w", reference, err)
	}
	layerSum := digest(layer)
	settings, err := json.Marshal(config{
		Architecture: architecture, OS: "linux", Created: time.Unix(0, 0).UTC().Format(time.RFC3339),
		Config: configProcess{Entrypoint: entrypoint, Env: []string{"PATH=/"}, WorkingDir: "/"},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{"sha256:" + layerSum}},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the config of %s: %w", reference, err)
	}
	configName, layerName := digest(settings)+".json", layerSum+".tar"
	index, err := json.Marshal([]manifest{{
		Config: configName, RepoTags: []string{reference}, Layers: []string{layerName},
	}})
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest of %s: %w", reference, err)
	}
	archive, err := pack(
		file{name: "manifest.json", mode: 0o644, body: index},
		file{name: configName, mode: 0o644, body: settings},
		file{name: layerName, mode: 0o644, body: layer},
	)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", reference, err)
	}
	return archive, nil
}

func pack(files ...file) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range files {
		header := &tar.Header{
			Name: f.name, Mode: f.mode, Size: int64(len(f.body)), Typeflag: tar.TypeReg,
			Format: tar.FormatUSTAR, ModTime: time.Unix(0, 0),
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
