// Package session owns conversations between two ends of the bus that are not stored: each end sends frames, in order, as fast as the
// other takes them.
//
// Core NATS keeps nothing back for a slow listener, and does not report that a listener is gone. So each end of a session
// grants the other a window of bytes and acknowledges what it has taken. An end whose window is used up waits, and so does
// the source that it reads from. Frames are numbered: the session ends where one is lost. Each end sends a sign of life
// every few seconds; an end that is silent for longer is gone, and the session ends.
//
//	stop, err := session.Serve(b, "rookery.node.edge-1.logs.*.*.*.*", session.MaxSessions, handle)   // one end
//	c, err := session.Open(ctx, b, "rookery.node.edge-1.logs.demo.web.0.1", body)                    // the other
//	err = c.Send(ctx, "stdin", line)     // waits while the window is used up
//	frame, err := c.Receive(ctx)         // io.EOF once the other end has ended it well
//
// The package does not know the meaning of a frame.
//
// On the wire: the client opens a session by a request with a body and the header Rookery-Reply, a subject of its own below rookery.session. The
// server answers with Rookery-Session, the subject on which it listens from then on, or with NATS's headers of an error.
// Every later message goes to one of these two subjects, and its header Rookery-Frame says what it is:
//
//   - "ready": once, from the server.
//   - "ack": has Rookery-Taken, in bytes; it is also the sign of life.
//   - "end": has an error's headers, or the result as its body, and the number of the last frame before it.
//   - any other: a frame, with Rookery-Number, which counts from 1 on.
package session
