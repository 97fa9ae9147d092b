package world

import (
	"cmp"
	"fmt"

	"github.com/rookery-project/rookery/events"
)

// behaviour is what containers of an image do by themselves.
type behaviour int

// The behaviours.
const (
	fine     behaviour = iota
	crashes            // they end with an error after a while
	finishes           // they end well after a while
	absent             // the image cannot be had
	sick               // they are never healthy
)

func (w *World) imageOf(image string) behaviour { return w.images[image] }

// hitTagMoved has a tag stand for another image on the hosts.
func hitTagMoved(w *World, a Action) {
	image := images[a.N%len(images)]
	for _, name := range a.Targets {
		if h := w.hosts[name]; h != nil {
			h.engine.Tag(image, fmt.Sprintf("%s@%d", image, a.N))
		}
	}
}

// images returns what the container of the instance was made from.
func (h *host) images(id events.InstanceID) map[string]string {
	for _, c := range h.engine.Containers() {
		if c.Instance == id {
			return c.Images
		}
	}
	return nil
}

// imagesUnlike says which services have instances of their revision that were made from different images.
func (j *judge) imagesUnlike() []string {
	first := map[events.ServiceID]string{}
	var why []string
	for _, i := range j.cluster.present {
		h, s := j.w.hosts[i.node], j.cluster.services[i.id.Service]
		if h == nil || s == nil || i.retired || !s.upToDate(i) {
			continue
		}
		made := h.images(i.id)[s.specs[s.revision].Image]
		before := first[i.id.Service]
		if made != "" && before != "" && made != before {
			why = append(why, fmt.Sprintf("%s was made from %s, and another instance of %s from %s", i.id, made, i.id.Service, before))
		}
		first[i.id.Service] = cmp.Or(before, made)
	}
	return why
}
