package podmantest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Registry serves images of one name on the loopback, over the distribution's interface, to whom has the name and the
// password, or to all where there are none.
type Registry struct {
	t              testing.TB
	name, password string
	server         *httptest.Server

	mu     sync.Mutex
	blobs  map[string][]byte // by digest, manifests too
	tagged string            // the digest that the tag stands for
}

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// blob is how a manifest names a blob.
type blob struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// StartRegistry serves the image of a docker-archive, as WebArchive makes one, until the end of the test.
func StartRegistry(t testing.TB, archive []byte, name, password string) *Registry {
	t.Helper()
	r := &Registry{t: t, name: name, password: password, blobs: map[string][]byte{}}
	r.Push(archive)
	r.server = httptest.NewUnstartedServer(r)
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that try TLS first
	r.server.Start()
	t.Cleanup(r.server.Close)
	return r
}

// Push makes the tag refer to the image of another docker-archive. Earlier images remain available by their digests.
func (r *Registry) Push(archive []byte) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	files := untar(r.t, archive)
	var images []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &images); err != nil || len(images) != 1 {
		r.t.Fatalf("the archive has %d images: %v", len(images), err)
	}
	var layers []blob
	for _, layer := range images[0].Layers {
		layers = append(layers, r.add(layerType, files[layer]))
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": r.add(configType, files[images[0].Config]), "layers": layers,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.tagged = r.add(manifestType, manifest).Digest
}

func untar(t testing.TB, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *Registry) add(mediaType string, content []byte) blob {
	sum := sha256.Sum256(content)
	b := blob{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(content)}
	r.blobs[b.Digest] = content
	return b
}

// Host is where the registry is reached, and how its images are named.
func (r *Registry) Host() string { return strings.TrimPrefix(r.server.URL, "http://") }

func (r *Registry) repository() string { return r.Host() + "/team/web" }

// Image is what its image is called.
func (r *Registry) Image() string { return r.repository() + ":1" }

// Resolved is what its tag stands for now: the image by its digest.
func (r *Registry) Resolved() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.repository() + "@" + r.tagged
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	if name, password, ok := asked.BasicAuth(); r.name != "" && (!ok || name != r.name || password != r.password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		r.write(w, []byte(`{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`))
		return
	}
	path := strings.TrimPrefix(asked.URL.Path, "/v2/")
	if path == "" {
		return
	}
	content := r.content(path)
	if content == nil {
		http.NotFound(w, asked)
		return
	}
	if strings.HasPrefix(path, manifests) {
		w.Header().Set("Content-Type", manifestType)
	}
	r.write(w, content)
}

// The paths below which the registry has its content, by tag or digest and by digest.
const (
	manifests = "team/web/manifests/"
	blobs     = "team/web/blobs/"
)

// content returns what stands at the path; nil for nothing.
func (r *Registry) content(path string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if path == manifests+"1" {
		return r.blobs[r.tagged]
	}
	return r.blobs[strings.TrimPrefix(strings.TrimPrefix(path, manifests), blobs)]
}

func (r *Registry) write(w http.ResponseWriter, content []byte) {
	if _, err := w.Write(content); err != nil {
		r.t.Logf("the registry's answer is not taken: %v", err)
	}
}
