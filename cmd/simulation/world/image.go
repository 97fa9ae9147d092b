package world

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
