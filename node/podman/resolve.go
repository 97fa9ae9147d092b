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

// labelImages holds the references that image names resolved to when the container was created.
const labelImages = events.ReservedLabel + "images"

// local begins the names of images that exist only on a host, and in no registry.
const local = "localhost/"

// resolve pulls the images of the planned containers as the spec's pull says. It returns the plan's Images, and adds the references of
// names that are not resolved yet. An image that is in no registry has no reference.
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

// resolveOne pulls one image if necessary, and returns the reference that its name resolves to; "" for none.
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
	if err != nil || found == nil { // the create reports that the image is missing
		return "", err
	}
	return found.reference(name), nil
}

// reference returns the image's reference by its digest in the name's repository; "" if it is in no registry. If there are several
// digests, it prefers that of a list of images, which is the same on hosts of other architectures.
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
		return fmt.Errorf("encoding the references of images: %w", err)
	}
	labels[labelImages] = string(text)
	return nil
}
