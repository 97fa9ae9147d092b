package projections

import "github.com/rookery-project/rookery/events"

// Image is the image to which a name in a spec resolves.
type Image struct {
	// Reference is the image with its digest.
	Reference string
	// Since is the sequence of the event that resolved the name: orders that were decided earlier do not name the digest.
	Since uint64
}

// News returns those of an instance's images that the log does not have, or has with another digest; nil for none.
func (s *Service) News(i *Instance, images map[string]string) map[string]string {
	news := s.Revisions[i.Revision].news(images)
	if i.Revision != s.Revision && s.UpToDate(i) {
		for name, reference := range s.Current().news(images) {
			if news == nil {
				news = map[string]string{}
			}
			news[name] = reference
		}
	}
	return news
}

// news returns those of these images that the log does not have for the revision, or has with another digest; nil for none.
func (r *Revision) news(images map[string]string) map[string]string {
	if len(images) == 0 {
		return nil
	}
	var news map[string]string
	for _, name := range r.Spec.Images() {
		if reference := images[name]; reference != "" && events.Digest(r.Images[name].Reference) != events.Digest(reference) {
			if news == nil {
				news = map[string]string{}
			}
			news[name] = reference
		}
	}
	return news
}

// resolve notes an instance's images for its revision, and for the current revision where that keeps the instance.
func (s *Service) resolve(sequence uint64, i *Instance, images map[string]string) {
	s.Revisions[i.Revision].resolve(sequence, i, images)
	if i.Revision != s.Revision && s.UpToDate(i) {
		s.Current().resolve(sequence, i, images)
	}
}

// resolve notes an instance's images. The first instance to resolve a name resolves it for all.
func (r *Revision) resolve(sequence uint64, i *Instance, images map[string]string) {
	for name, reference := range images {
		known, there := r.Images[name]
		switch {
		case there && events.Digest(known.Reference) != events.Digest(reference): // the log may spell the repository in another way
			i.Differs = true
		case !there:
			if r.Images == nil {
				r.Images = map[string]Image{}
			}
			r.Images[name] = Image{Reference: reference, Since: sequence}
		}
	}
}

// resolved returns the images to which names resolve, as the log had them before this sequence; nil for none.
func (r *Revision) resolved(before uint64) map[string]string {
	var images map[string]string
	for name, image := range r.Images {
		if image.Since < before {
			if images == nil {
				images = make(map[string]string, len(r.Images))
			}
			images[name] = image.Reference
		}
	}
	return images
}

// ImagesOf returns the images to which the names in the service's spec resolve; nil where none is known.
func (s *Service) ImagesOf() map[string]string { return s.Current().resolved(^uint64(0)) }
