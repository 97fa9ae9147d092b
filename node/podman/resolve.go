package podman

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// labelImages holds what names of images stood for when the container was made.
const labelImages = events.ReservedLabel + "images"

// local begins the names of images that no registry has: each host has its own.
const local = "localhost/"

// resolve has the images of the planned containers here as the spec's pull says, and returns the plan's Images with what
// those names stand for that nobody had found out yet. What no registry has stands for nothing but itself.
func (e *Engine) resolve(ctx context.Context, plan node.Plan) (map[string]string, error) {
	images := maps.Clone(plan.Images)
	if images == nil {
		images = map[string]string{}
	}
	reference, err := e.resolveOne(ctx, plan, programOf(plan).image)
	if err != nil {
		return nil, err
	}
	note(images, programOf(plan).image, reference)
	if plan.Role != node.RoleMain {
		return images, nil
	}
	for _, s := range plan.Order.Spec.Sidecars {
		reference, err := e.resolveOne(ctx, plan, s.Image)
		if err != nil {
			return nil, failure("sidecar "+s.Name+": ", plan, err)
		}
		note(images, s.Image, reference)
	}
	return images, nil
}

func note(images map[string]string, name, reference string) {
	if reference != "" {
		images[name] = reference
	}
}

// resolveOne has one image here, and returns what its name stands for; "" for itself.
func (e *Engine) resolveOne(ctx context.Context, plan node.Plan, name string) (string, error) {
	known, pull := plan.Images[name], plan.Order.Spec.Pull
	if pull == events.PullAlways {
		if err := e.pullMarked(ctx, plan.Owner, cmp.Or(known, name), pull); err != nil {
			return "", err
		}
	}
	if known != "" || strings.Contains(name, "@") || strings.HasPrefix(name, local) {
		return known, nil
	}
	found, err := e.image(ctx, name)
	if found == nil && err == nil && pull != events.PullNever {
		if err = e.pullMarked(ctx, plan.Owner, name, events.PullMissing); err == nil {
			found, err = e.image(ctx, name)
		}
	}
	if err != nil || found == nil { // the create says that there is none
		return "", err
	}
	return found.reference(name), nil
}

// reference returns the image by the digest under which the name's repository has it, or "" where no registry does. Of
// several digests that of a list goes first: it stands for the same on hosts of other architectures.
func (i image) reference(name string) string {
	repository := name
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		repository = name[:colon]
	}
	best := ""
	for _, full := range i.RepoDigests {
		of, digest, _ := strings.Cut(full, "@")
		if (of != repository && !strings.HasSuffix(of, "/"+repository)) || strings.HasPrefix(of, local) {
			continue
		}
		if best == "" || digest != i.Digest {
			best = full
		}
	}
	return best
}

func labelWithImages(labels, images map[string]string) error {
	if len(images) == 0 {
		return nil
	}
	text, err := json.Marshal(images)
	if err != nil {
		return fmt.Errorf("encoding what images stand for: %w", err)
	}
	labels[labelImages] = string(text)
	return nil
}
