package podman_test

import (
	"testing"

	"github.com/rookery-project/rookery/node/podman"
)

func TestWhatANameStandsFor(t *testing.T) {
	const of = "reg.example:5000/team/web@sha256:1"
	for name, tt := range map[string]struct {
		name, want string
		digests    []string
	}{
		"a tag":                     {"reg.example:5000/team/web:1", of, []string{"other.example/web@sha256:1", of}},
		"no tag":                    {"reg.example:5000/team/web", of, []string{of}},
		"a list of architectures":   {"reg.example/web:1", "reg.example/web@sha256:2", []string{"reg.example/web@sha256:2", "reg.example/web@sha256:1"}},
		"a short name":              {"web:1", "docker.io/library/web@sha256:1", []string{"docker.io/library/web@sha256:1"}},
		"a short name made here":    {"web:1", "", []string{"localhost/web@sha256:1"}},
		"an id":                     {"0123456789ab", "", []string{of}},
		"a name that ends the same": {"web:1", "", []string{"reg.example/cobweb@sha256:1"}},
		"nothing":                   {"web:1", "", nil},
	} {
		if got := podman.Reference(tt.name, "sha256:1", tt.digests...); got != tt.want {
			t.Errorf("%s: %s stands for %q, want %q", name, tt.name, got, tt.want)
		}
	}
}
