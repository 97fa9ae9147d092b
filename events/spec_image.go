package events

import (
	"regexp"
	"slices"
	"strings"
)

// ImageSpec says how images come to the node.
type ImageSpec struct {
	// Pull is missing (where the node does not have the image), always (before each container) or never. Default: missing. Whatever it
	// says, each revision resolves a tag once.
	Pull PullPolicy `json:"pull,omitempty"`
}

// PullPolicy is when an image is fetched.
type PullPolicy string

// When an image is fetched.
const (
	PullMissing PullPolicy = "missing"
	PullAlways  PullPolicy = "always"
	PullNever   PullPolicy = "never"
)

func (s ImageSpec) canonical() ImageSpec {
	if s.Pull == PullMissing {
		s.Pull = ""
	}
	return s
}

func (s ImageSpec) check() error {
	known := []PullPolicy{PullMissing, PullAlways, PullNever}
	if s.Pull != "" && !slices.Contains(known, s.Pull) {
		return Reject(CodeInvalidValue, "pull", "pull %s is not known: known are %s", quote(string(s.Pull)), listed(known))
	}
	return nil
}

// MaxImages is the greatest number of images that an instance is made from: its own, that of its init container and
// those of its sidecars.
const MaxImages = 2 + MaxSidecars

// Images returns the images that an instance is made from, by their names in the spec, each once.
func (s Spec) Images() []string {
	names := []string{s.Image}
	if s.Init != nil && s.Init.Image != "" {
		names = append(names, s.Init.Image)
	}
	for _, c := range s.Sidecars {
		names = append(names, c.Image)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// digestForm is that of the digests which the OCI image specification registers.
var digestForm = regexp.MustCompile(`^sha(256|384|512):[0-9a-f]+$`)

// IsDigest reports whether the text is a digest, as in "sha256:…".
func IsDigest(text string) bool { return digestForm.MatchString(text) }

// Digest returns the digest of a reference, as in "sha256:…"; of a digest itself.
func Digest(reference string) string { return reference[strings.LastIndexByte(reference, '@')+1:] }

// ByDigest returns the image of this name, as in "quay.io/web:1", by a digest: "quay.io/web@sha256:…". The repository is always that of the
// name.
func ByDigest(name, digest string) string {
	repository, _, _ := strings.Cut(name, "@")
	if colon := strings.LastIndexByte(repository, ':'); colon > strings.LastIndexByte(repository, '/') {
		repository = repository[:colon]
	}
	return repository + "@" + Digest(digest)
}

// checkImages refuses images that a node resolves to something other than a digest. Earlier versions of nodes put the repository in front.
func checkImages(images map[string]string) error {
	if len(images) > MaxImages {
		return Reject(CodeOutOfRange, "images", "images has %d entries, more than %d", len(images), MaxImages)
	}
	for _, name := range sortedKeys(images) {
		field := "images." + printable(name)
		if err := checkWord(field, images[name]); err != nil {
			return err
		}
		if !IsDigest(Digest(images[name])) {
			return Reject(CodeInvalidValue, field, "%s %s is not a digest", field, quote(images[name]))
		}
	}
	return nil
}
