package podman

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// markFolder begins the names that a node gives to images that it has pulled and that the host did not have before. Podman keeps the
// names, so that the node recognises its images, and an operator who lists images sees which node pulled them.
const markFolder = "localhost/rookery-pulled/"

// image is one of Podman's store. It is listed and inspected with the same fields.
type image struct {
	ID    string   `json:"Id"`
	Names []string `json:"RepoTags"`
	// Digest is that of the image itself. RepoDigests are its names with a digest. If Podman pulled it through a list of images for several
	// architectures, they include the digest of that list.
	Digest      string
	RepoDigests []string
}

// mark is what the node has recorded about an image in the name that it gave the image.
type mark struct {
	full string // the whole name
	// name is the digest of the one name that the image was pulled under.
	name string
	// since is when the node first found the image unused; zero while it is used.
	since time.Time
}

// PruneImages makes Prune remove images that were unused for this long, and makes later pulls mark their images for it. Call it before
// any other method.
func (e *Engine) PruneImages(unusedFor time.Duration) { e.unusedFor = unusedFor }

// pullMarked pulls the image, and marks it if the host did not have it before under any name. An image that cannot be marked stays
// forever. That is harmless and not an error.
func (e *Engine) pullMarked(ctx context.Context, owner node.Owner, reference string, policy events.PullPolicy) error {
	var before []image
	var err error
	if e.unusedFor > 0 {
		before, err = e.images(ctx)
	}
	if pullErr := e.pull(ctx, reference, policy); pullErr != nil || e.unusedFor == 0 || err != nil {
		return pullErr
	}
	pulled, err := e.image(ctx, reference)
	if err != nil || pulled == nil || len(pulled.Names) > 1 ||
		slices.ContainsFunc(before, func(i image) bool { return i.ID == pulled.ID }) {
		return nil
	}
	_ = e.tag(ctx, pulled.ID, owner, digestOf(strings.Join(pulled.Names, "")), time.Time{})
	return nil
}

// Prune removes images that this owner has pulled, that no container uses and that are not needed. They must have been unused for the
// time of PruneImages. It keeps images that an operator has given another name. now is the wall clock, so that the time counts across
// processes of the node.
func (e *Engine) Prune(ctx context.Context, owner node.Owner, needed []string, now time.Time) error {
	all, err := e.images(ctx)
	if err != nil {
		return err
	}
	used, err := e.used(ctx, needed)
	if err != nil {
		return err
	}
	var wrong []error // a failure for one image does not stop the others
	for _, i := range all {
		if m, marked := i.mark(owner); marked {
			_, is := used[i.ID]
			wrong = append(wrong, e.follow(ctx, i, owner, m, is, now))
		}
	}
	return errors.Join(wrong...)
}

// follow updates the image's mark to whether the image is used, or removes the image.
func (e *Engine) follow(ctx context.Context, i image, owner node.Owner, m mark, used bool, now time.Time) error {
	switch {
	case used && !m.since.IsZero():
		return e.remark(ctx, i, owner, m, time.Time{})
	case !used && m.since.IsZero():
		return e.remark(ctx, i, owner, m, now)
	case !used && now.Sub(m.since) >= e.unusedFor && i.onlyPulled(m):
		return e.removeImage(ctx, i, m)
	}
	return nil
}

// used returns the ids of the images that are needed or that any container uses, foreign ones included.
func (e *Engine) used(ctx context.Context, needed []string) (map[string]struct{}, error) {
	var containers []struct {
		ImageID string `json:"ImageID"`
	}
	err := e.do(ctx, request{method: http.MethodGet, path: "/containers/json", query: url.Values{"all": {"true"}}}, &containers)
	if err != nil {
		return nil, fmt.Errorf("listing the containers of all owners: %w", err)
	}
	used := map[string]struct{}{}
	for _, c := range containers {
		used[c.ImageID] = struct{}{}
	}
	for _, reference := range needed {
		i, err := e.image(ctx, reference)
		if err != nil {
			return nil, err
		}
		if i != nil {
			used[i.ID] = struct{}{}
		}
	}
	return used, nil
}

func (e *Engine) images(ctx context.Context) ([]image, error) {
	var all []image
	if err := e.do(ctx, request{method: http.MethodGet, path: "/images/json"}, &all); err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	return all, nil
}

// image returns the image that has the name here, or nil.
func (e *Engine) image(ctx context.Context, name string) (*image, error) {
	var i image
	err := e.do(ctx, request{method: http.MethodGet, path: "/images/" + name + "/json"}, &i)
	if refused := new(refusal); errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return nil, nil //nolint:nilnil // the host does not have the image
	}
	if err != nil {
		return nil, fmt.Errorf("inspecting image %s: %w", name, err)
	}
	return &i, nil
}

// tag marks the image.
func (e *Engine) tag(ctx context.Context, id string, owner node.Owner, name string, since time.Time) error {
	if !since.IsZero() {
		name += "-" + strconv.FormatInt(since.Unix(), 10)
	}
	err := e.do(ctx, request{
		method: http.MethodPost, path: "/images/" + id + "/tag",
		query: url.Values{"repo": {markRepository(owner)}, "tag": {id[:min(len(id), idDigits)] + "-" + name}},
	}, nil)
	if err != nil {
		return fmt.Errorf("marking image %s: %w", id, err)
	}
	return nil
}

// remark replaces the image's mark.
func (e *Engine) remark(ctx context.Context, i image, owner node.Owner, m mark, since time.Time) error {
	if err := e.tag(ctx, i.ID, owner, m.name, since); err != nil {
		return err
	}
	return e.removeName(ctx, m.full)
}

// removeImage removes all names of the image. The mark goes last, so that the node finds the image again if a removal fails.
func (e *Engine) removeImage(ctx context.Context, i image, m mark) error {
	for _, name := range i.Names {
		if name != m.full {
			if err := e.removeName(ctx, name); err != nil {
				return err
			}
		}
	}
	return e.removeName(ctx, m.full)
}

// removeName removes the name from its image, and removes an image that has no other name. It returns nil if a container uses the image
// by now, or if the image is gone.
func (e *Engine) removeName(ctx context.Context, name string) error {
	err := e.do(ctx, request{method: http.MethodDelete, path: "/images/" + name}, nil)
	refused := new(refusal)
	if errors.As(err, &refused) && (refused.status == http.StatusNotFound || refused.status == http.StatusConflict) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing image %s: %w", name, err)
	}
	return nil
}

// idDigits is how many characters of an image's id tell it from others on one host.
const idDigits = 12

func markRepository(owner node.Owner) string {
	return markFolder + strings.ToLower(owner.Cluster[:min(len(owner.Cluster), idDigits)]) + "/" + owner.Node
}

// mark returns the mark that the owner gave the image: <id>-<digest of its name>, followed by -<seconds since 1970> if the node has found
// it unused.
func (i image) mark(owner node.Owner) (mark, bool) {
	for _, full := range i.Names {
		text, ours := strings.CutPrefix(full, markRepository(owner)+":")
		words := strings.Split(text, "-")
		if !ours || len(words) < 2 || !strings.HasPrefix(i.ID, words[0]) {
			continue
		}
		m := mark{full: full, name: words[1]}
		if len(words) > 2 {
			seconds, err := strconv.ParseInt(words[2], 10, 64)
			if err != nil {
				continue
			}
			m.since = time.Unix(seconds, 0)
		}
		return m, true
	}
	return mark{}, false
}

// onlyPulled reports whether the image has only the name under which the node pulled it, and the mark.
func (i image) onlyPulled(m mark) bool {
	return !slices.ContainsFunc(i.Names, func(name string) bool { return name != m.full && digestOf(name) != m.name })
}

func digestOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:idDigits])
}
