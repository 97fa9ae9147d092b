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

// markFolder begins the names that images get which a node has pulled and which were not there before. They are how the
// node knows them again: Podman keeps them, and whoever lists images sees whose they are.
const markFolder = "localhost/rookery-pulled/"

// image is one of Podman's store. It is listed and inspected with the same fields.
type image struct {
	ID    string   `json:"Id"`
	Names []string `json:"RepoTags"`
	// Digest is that of the image itself, and RepoDigests are the names with a digest that it has: also with that of a
	// list of images for several architectures which it was pulled by.
	Digest      string
	RepoDigests []string
}

// mark is what the name that the node gave an image says of it.
type mark struct {
	full string // the whole name
	// name is the digest of the one name that the image was pulled under.
	name string
	// since is when the image was first found unused; zero where it was used then.
	since time.Time
}

// PruneImages has Prune remove images that were unused for as long, and pulls from here on marked for it. To be called
// before any other method.
func (e *Engine) PruneImages(unusedFor time.Duration) { e.unusedFor = unusedFor }

// pullMarked pulls the image and marks it where it was not there before under any name. An image that could not be
// marked stays for ever, which harms nobody: no error.
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

// Prune removes the images that this owner has pulled, that no container is of, that are none of those needed, and that
// were found so at least as long ago as PruneImages says. Images that somebody gave another name stay. now is the wall
// clock: what was found by one process counts for the next.
func (e *Engine) Prune(ctx context.Context, owner node.Owner, needed []string, now time.Time) error {
	all, err := e.images(ctx)
	if err != nil {
		return err
	}
	used, err := e.used(ctx, needed)
	if err != nil {
		return err
	}
	var wrong []error // one image is no reason to keep the others
	for _, i := range all {
		if m, marked := i.mark(owner); marked {
			_, is := used[i.ID]
			wrong = append(wrong, e.follow(ctx, i, owner, m, is, now))
		}
	}
	return errors.Join(wrong...)
}

// follow has the image's mark say whether it is used, or removes the image.
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

// used returns the images, by their ids, that a container of anybody is of or that are needed.
func (e *Engine) used(ctx context.Context, needed []string) (map[string]struct{}, error) {
	var containers []struct {
		ImageID string `json:"ImageID"`
	}
	err := e.do(ctx, request{method: http.MethodGet, path: "/containers/json", query: url.Values{"all": {"true"}}}, &containers)
	if err != nil {
		return nil, fmt.Errorf("listing the containers of all: %w", err)
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
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("looking at image %s: %w", name, err)
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

// remark gives the image another mark in place of the one that it has.
func (e *Engine) remark(ctx context.Context, i image, owner node.Owner, m mark, since time.Time) error {
	if err := e.tag(ctx, i.ID, owner, m.name, since); err != nil {
		return err
	}
	return e.removeName(ctx, m.full)
}

// removeImage takes all names from the image. The mark goes last: where that fails, the image is found again.
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

// removeName takes the name from its image, and removes an image that has no other. One that a container has come to be
// of meanwhile stays, and so does one that is gone.
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

// idDigits is how much of an image's id is enough to tell it from others on one host.
const idDigits = 12

func markRepository(owner node.Owner) string {
	return markFolder + strings.ToLower(owner.Cluster[:min(len(owner.Cluster), idDigits)]) + "/" + owner.Node
}

// mark returns the mark that the owner gave the image: <id>-<digest of its name>, and then -<seconds since 1970> where
// it was found unused.
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

// onlyPulled reports whether the image has no name but the one that it was pulled under, and the mark.
func (i image) onlyPulled(m mark) bool {
	return !slices.ContainsFunc(i.Names, func(name string) bool { return name != m.full && digestOf(name) != m.name })
}

func digestOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:idDigits])
}
