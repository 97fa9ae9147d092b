// Package session owns conversations between two ends of the bus that are not stored: each end sends frames, in order, as fast as the
// other takes them.
//
// Core NATS keeps nothing back for a slow listener and tells nobody when one goes. So each end of a session grants the other a
// window of bytes and acknowledges what was taken of it: an end whose window is used up waits, and so does whatever it reads from. Frames
// are numbered: one that was lost ends the session. Each end says every few seconds that it is there; one that is not heard for
// longer is gone, and the session ends.
//
//	stop, err := session.Serve(b, "rookery.node.edge-1.logs.*.*.*.*", session.MaxSessions, handle)   // one end
//	c, err := session.Open(ctx, b, "rookery.node.edge-1.logs.demo.web.0.1", body)                    // the other
//	err = c.Send(ctx, "stdin", line)     // waits while the window is used up
//	frame, err := c.Receive(ctx)         // io.EOF once the other end has ended it well
//
// It never knows what a frame means.
//
// On the wire: who opens sends a request with the headers Rookery-Reply (an inbox of its own) and its body; the answer has
// Rookery-Session, the subject on which that end is heard from then on, or NATS's headers of an error. All that follows goes to
// the one subject or the other, with the header Rookery-Frame: "ready" (once, from who serves), "ack" (with Rookery-Taken, in bytes;
// it is also the sign of life), "end" (with an error's headers, or the result as its body; it has the number of the last frame before), or any other with
// Rookery-Number, which counts from 1 on.
package session
