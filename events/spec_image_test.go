package events_test

import (
	"testing"

	"github.com/rookery-project/rookery/events"
)

// TestTheRepositoryIsThatOfTheName covers a node that answers with another repository.
func TestTheRepositoryIsThatOfTheName(t *testing.T) {
	const digest = "sha256:5eb7e8c4"
	for name, want := range map[string]string{
		"web":                       "web@" + digest,
		"quay.io/team/web:1":        "quay.io/team/web@" + digest,
		"127.0.0.1:5000/web":        "127.0.0.1:5000/web@" + digest,
		"127.0.0.1:5000/web:1":      "127.0.0.1:5000/web@" + digest,
		"quay.io/web:1@sha256:aaaa": "quay.io/web@" + digest,
	} {
		for _, said := range []string{digest, "evil.example/web@" + digest} {
			if got := events.ByDigest(name, said); got != want {
				t.Errorf("%s, as a node says %s, is %s, want %s", name, said, got, want)
			}
		}
	}
}
