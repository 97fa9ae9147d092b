package projections

import "github.com/rookery-project/rookery/events"

// Image is what a name in a spec stands for.
type Image struct {
	// Reference is the image with its digest.
	Reference string
	// Since is the sequence of the event that said so: orders that were decided before do not have it.
	Since uint64
}

// News returns what of the images that an instance was made from the log does not say, or says otherwise; nil for nothing.
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

// news returns what of these images the log does not say of the revision, or says otherwise; nil for nothing.
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

// resolve takes what an instance was made from, for its revision and for the current one where that keeps it.
func (s *Service) resolve(sequence uint64, i *Instance, images map[string]string) {
	s.Revisions[i.Revision].resolve(sequence, i, images)
	if i.Revision != s.Revision && s.UpToDate(i) {
		s.Current().resolve(sequence, i, images)
	}
}

// resolve takes what an instance was made from. The first to say what a name stands for says it for all.
func (r *Revision) resolve(sequence uint64, i *Instance, images map[string]string) {
	for name, reference := range images {
		known, there := r.Images[name]
		switch {
		case there && events.Digest(known.Reference) != events.Digest(reference): // the log may have another name for one repository
			i.Differs = true
		case !there:
			if r.Images == nil {
				r.Images = map[string]Image{}
			}
			r.Images[name] = Image{Reference: reference, Since: sequence}
		}
	}
}

// resolved returns what names stand for, as the log had it before this sequence; nil for nothing.
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

// ImagesOf returns what the names of images in the service's spec stand for; nil where nothing is known.
func (s *Service) ImagesOf() map[string]string { return s.Current().resolved(^uint64(0)) }
