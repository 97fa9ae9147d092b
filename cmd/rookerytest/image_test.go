package rookerytest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// secondHost starts a node on a Podman of its own, and returns that.
func (r *realNode) secondHost() *realNode {
	r.t.Helper()
	second := &realNode{
		Cluster: r.Cluster, t: r.t, uri: podmantest.Start(r.t), owner: node.Owner{Cluster: r.owner.Cluster, Node: "attic"},
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	var err error
	if second.engine, err = podman.Connect(ctx, second.uri); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(second.engine.Close)
	second.node = startProcess(r.t, "node", "--server", r.URL, "--podman", second.uri, "--name", "attic", "--ports", freePortRange(r.t),
		"--heartbeat", "500ms")
	r.Until("the second node has joined", func() bool { return r.State().Nodes == 2 })
	return second
}

// images returns what the service's containers on the host are of, by Podman.
func (s *seen) images() []string {
	s.Helper()
	var all []string
	for id, c := range s.running() {
		if id.Service.String() == s.service {
			all = append(all, s.podman("inspect", "--format", "{{.ImageName}}", c.Handle))
		}
	}
	slices.Sort(all)
	return all
}

// TestImagesLoadedByHandOnPodman runs an image of a registry that no host can reach: the test has loaded the same image on each host.
func TestImagesLoadedByHandOnPodman(t *testing.T) {
	t.Parallel()
	const image = "registry.invalid/web:1"
	r := startReal(t)
	attic := r.secondHost()
	podmantest.LoadWeb(t, attic.uri)
	s := r.publish(t, specRow{name: "waits", fields: `"node_selector":{"none":"none"}`})
	beside := &seen{T: t, realNode: attic, service: "demo/loaded"}
	s.podman("tag", podmantest.WebReference, image)
	beside.podman("tag", podmantest.WebReference, image)
	r.Ensure("demo/loaded", `{"image":"`+image+`","stop_grace":"1s","max_per_node":1,"scale":2}`)
	s.service = "demo/loaded"
	if a, b := s.images(), beside.images(); len(a) != 1 || !slices.Equal(a, b) {
		t.Errorf("the hosts run %q and %q, want the same", a, b)
	}
}

// TestATagIsResolvedOncePerRevisionOnPodman moves the tag of the image of a service in its registry while instances run, restart and start.
// On every host, all of them run the image that the tag stood for when the first instance was made. A new revision resolves the tag again.
// When hosts find different images, the first in the log counts.
func TestATagIsResolvedOncePerRevisionOnPodman(t *testing.T) {
	t.Parallel()
	reg := podmantest.StartRegistry(t, podmantest.WebArchive(t), "", "")
	first := reg.Resolved()
	r := startReal(t)
	attic := r.secondHost()
	s := r.publish(t, specRow{name: "tag", fields: `"image":"` + reg.Image() + `","max_per_node":1,"restart":{"delay":"10ms"},"pull":"always"`})
	if got := event[events.InstancePrepared](s).Images; got[reg.Image()] != first {
		t.Errorf("the first instance says that the tag stands for %v, want %s", got, first)
	}
	event[events.CommandSucceeded](s)
	one := s
	if len(s.images()) == 0 {
		one = &seen{T: t, realNode: attic, service: s.service}
	}
	s.want("the image of the first", one.images()[0], first)

	reg.Push(podmantest.WebArchive(t, "-listen", ":8080"))
	second := reg.Resolved()
	one.podman("pull", reg.Image()) // by hand: the tag stands for another image here from now on
	podmantest.Kill(t, one.uri, one.container().Handle)
	if e := event[events.InstanceOffline](s); e.Reason != events.OfflineExited {
		t.Errorf("the instance is offline as %s", e.Reason)
	}
	event[events.InstanceOnline](s)
	s.want("the image after a restart", one.images()[0], first)

	s.Command(s.service, "scale", `{"scale":2}`)
	beside := &seen{T: t, realNode: attic, service: s.service}
	s.want("the images on one host", s.images()[0], first)
	s.want("the images on the other", beside.images()[0], first)

	// A new revision resolves the tag again, on hosts whose tags differ.
	other := map[bool]*seen{true: beside, false: s}[one.uri == s.uri]
	other.podman("tag", first, reg.Image())
	s.Command(s.service, "scale", `{"scale":0}`)
	s.Ensure(s.service, `{"image":"`+reg.Image()+`","stop_grace":"1s","max_per_node":1,"scale":2}`)
	got := slices.Concat(s.images(), beside.images())
	if len(got) != 2 || got[0] != got[1] || (got[0] != first && got[0] != second) {
		t.Errorf("the instances run %q, want both one of %s and %s", got, first, second)
	}
	for event[events.InstanceRetired](s).Reason != events.RetireOtherImage {
		t.Log("an instance was retired for another reason")
	}
}
