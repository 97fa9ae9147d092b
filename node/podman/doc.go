// Package podman owns the door to a Podman service: it is node.Engine on Podman's REST interface.
//
// It never decides anything: what to run, stop or try again is the node's. It keeps between two calls the connection,
// who watches, and what has just ended. Podman's bindings open the connection and check the service's version; requests
// are our own, because the bindings' repeat a failed one after a sleep that no context ends, and a create whose body is
// spent.
//
//	engine, err := podman.Connect(ctx, "unix:///run/podman/podman.sock")
//	defer engine.Close()
//	go engine.Watch(ctx, owner, ready, hint)   // pidfds tell of an exit within a millisecond, Podman's events of the rest
//	containers, err := engine.List(ctx, owner) // the truth
//	c, err := engine.Prepare(ctx, plan)
//	err = engine.Start(ctx, c)
//
// Every call ends when its context does; who calls says when. The node's runner does so: quick calls, which are Facts, Tidy, List, Inspect
// and the beginning of Watch, have the answer time (10 s, a setting); Start and Remove 30 s; Stop its grace and 15 s; Prepare,
// which pulls images, 10 minutes and what the filling of volumes takes; Check the health check's time-out; Tell and the secrets of configs 10 s;
// Output 1 s; Usage 1 minute; Ask and Export what the operation gives; Prune 10 minutes.
//
// Where the service's processes are visible to us (one host, one process namespace), a container whose process has
// ended is told as exited before Podman knows, and also where Podman never learns it. Elsewhere Podman is believed.
package podman
