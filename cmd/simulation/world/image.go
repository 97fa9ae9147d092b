package world

import (
	"fmt"

	"github.com/rookery-project/rookery/events"
)

// behaviour is how containers of an image behave by themselves.
type behaviour int

// The behaviours.
const (
	fine     behaviour = iota
	crashes            // they end with an error after a while
	finishes           // they end well after a while
	absent             // no registry has the image
	sick               // they are never healthy
)

func (w *World) imageOf(image string) behaviour { return w.images[image] }

// hitTagMoved moves a tag to another image on the hosts.
func hitTagMoved(w *World, a Action) {
	image := images[a.N%len(images)]
	for _, name := range a.Targets {
		if h := w.hosts[name]; h != nil {
			h.engine.Tag(image, events.ByDigest(image, fmt.Sprintf("sha256:%064x", a.N)))
		}
	}
}
