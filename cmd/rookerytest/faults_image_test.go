package rookerytest_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// imageFaults are faults of a registry, and of images that no longer exist.
func imageFaults() []fault {
	offline := func(s *scene) { s.hears("service.demo.pulled.instance.offline", string(events.OfflineImagePull)) }
	return []fault{
		{name: "image missing in its registry", expected: "said; runs once it is there", inject: func(s *scene) {
			r := s.stocks("missing")
			there := s.image
			s.image += "-later"
			s.heals(func() { r.copies(s, there, s.image) })
			s.pulls()
			offline(s)
		}},
		{name: "image denied by its registry", expected: "said; runs once it is given", inject: func(s *scene) {
			r := s.stocks("denied")
			r.again("auth: {silly: {realm: test, service: test}}")
			s.heals(func() { r.again("") })
			s.pulls()
			offline(s)
		}},
		{name: "registry slow", expected: "runs later, and nothing else waits", inject: func(s *scene) {
			r := s.stocks("slow")
			const delay = 50 * time.Millisecond // for each 64 KiB
			r.wires[s.host.name].slow(delay)
			s.heals(func() { r.wires[s.host.name].slow(0) })
			sequence := s.pulls()
			restart, _ := s.command("demo/single", "restart", `{"busy":"supersede"}`)
			s.saw("restart of another %s", s.Outcome(restart).Outcome)
			s.saw("%s %s", filepath.Base(s.image), s.Outcome(sequence).Outcome)
		}},
		{name: "registry killed in the middle of a pull", expected: "said; runs once it is back", inject: func(s *scene) {
			r := s.stocks("killed")
			asked := make(chan struct{})
			r.wires[s.host.name].once("/blobs/", func() {
				r.process.signal(syscall.SIGKILL)
				close(asked)
			})
			s.heals(func() { r.again("") })
			s.pulls()
			s.until("it is asked for a blob", func() bool { return closed(asked) })
			offline(s)
		}},
		{name: "image has another content than its digest", expected: "said; runs once it is right", inject: func(s *scene) {
			s.heals(s.stocks("spoilt").spoils(s))
			s.pulls()
			offline(s)
		}},
		{name: "image vanished with its container", expected: "said; runs once it is loaded again", inject: imageVanished},
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// registry is Debian's own, on the loopback, and on that of each host that pulls from it.
type registry struct {
	trial   *trial
	process *process
	folder  string
	port    int
	wires   map[string]*wire // by host
}

// again starts it, with more lines of its configuration; one that runs is ended before.
func (r *registry) again(lines string) {
	if r.process != nil {
		r.process.kill()
	}
	config := filepath.Join(r.folder, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: 127.0.0.1:%d}\n%s\n",
		filepath.Join(r.folder, "store"), r.port, lines)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		r.trial.t.Fatal(err)
	}
	r.process = newProcess(r.trial.t, exec.Command("docker-registry", "serve", config)) //nolint:noctx // ended by the test
	r.process.start()
	r.trial.until(func() bool {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(r.trial.interrupted, "tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
		if err == nil {
			_ = conn.Close() // nothing was written
		}
		return err == nil
	})
}

// stocks pushes an image that the host does not have to a registry that the host reaches. The scene uses that image from then on.
func (s *scene) stocks(name string) *registry {
	if s.registry == nil {
		s.registry = &registry{trial: s.trial, folder: s.t.TempDir(), port: freePorts(s.t), wires: map[string]*wire{}}
		s.registry.again("")
	}
	r := s.registry
	if r.wires[s.host.name] == nil {
		l, err := s.host.listen("127.0.0.1:0")
		if err != nil {
			s.fail("%v", err)
		}
		r.wires[s.host.name] = newWireFrom(s.t, l, "tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
	}
	s.turns++
	s.image = fmt.Sprintf("%s/team/%s:%d", r.wires[s.host.name].address(), name, s.turns)
	s.local = fmt.Sprintf("localhost/rookery-web:%s-%d", name, s.turns)
	s.podmanLoads()
	s.podman(s.host, "tag", s.local, s.image)
	s.pushes()
	return r
}

// podmanLoads loads an image that shares nothing with others into the host's Podman.
func (s *scene) podmanLoads() {
	path := filepath.Join(s.t.TempDir(), "image")
	if err := os.WriteFile(path, podmantest.OwnWebArchive(s.t, s.local), 0o600); err != nil {
		s.fail("%v", err)
	}
	s.podman(s.host, "load", "--input", path)
	if err := os.Remove(path); err != nil {
		s.fail("%v", err)
	}
}

// pushes pushes the image of the scene to the registry, and removes it from the host.
func (s *scene) pushes() {
	s.podman(s.host, "push", s.image)
	s.podman(s.host, "rmi", s.image, s.local)
}

// pulls makes the host run a service with the image of the scene.
func (s *scene) pulls() uint64 {
	s.services = append(s.services, "demo/pulled")
	sequence, ok := s.command("demo/pulled", "ensure", fmt.Sprintf(
		`{"image":%q,"node_selector":{"host":%q},"restart":{"delay":"100ms","max_delay":"1s"},"stop_grace":"1s"}`, s.image, s.host.name))
	if !ok {
		s.fail("ensure was not acknowledged")
	}
	return sequence
}

// spoils changes a byte of the greatest thing that the registry has stored last, and returns what puts that right.
func (r *registry) spoils(s *scene) (mend func()) {
	var blobs []string
	sizes := map[string]int64{}
	err := filepath.WalkDir(filepath.Join(r.folder, "store", "docker", "registry", "v2", "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "data" {
			info, err := d.Info()
			if err != nil {
				return err
			}
			const layers = 1 << 20
			if sizes[path] = info.ModTime().UnixNano(); info.Size() > layers {
				blobs = append(blobs, path)
			}
		}
		return err
	})
	if err != nil || len(blobs) == 0 {
		s.fail("%d blobs: %v", len(blobs), err)
	}
	path := slices.MaxFunc(blobs, func(a, b string) int { return int(sizes[a]>>20 - sizes[b]>>20) })
	turn := func() {
		text, err := os.ReadFile(path)
		if err == nil {
			text[len(text)/2] ^= 1
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			s.fail("%v", err)
		}
	}
	turn()
	s.saw("a bit of %.12s turned", strings.TrimSuffix(filepath.Base(filepath.Dir(path)), "/"))
	return turn
}

// copies gives an image of the registry another tag there.
func (r *registry) copies(s *scene, from, to string) {
	manifest := func(image string) string {
		path, tag, _ := strings.Cut(image[strings.Index(image, "/")+1:], ":")
		return fmt.Sprintf("http://127.0.0.1:%d/v2/%s/manifests/%s", r.port, path, tag)
	}
	const anyKind = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
	text, kind := s.http(http.MethodGet, manifest(from), "Accept", anyKind, nil)
	s.http(http.MethodPut, manifest(to), "Content-Type", kind, text)
}

// http makes a request, and returns the answer and what kind it is of.
func (s *scene) http(method, url, header, value string, body []byte) (answer []byte, kind string) {
	request, err := http.NewRequestWithContext(s.interrupted, method, url, bytes.NewReader(body))
	if err != nil {
		s.fail("%v", err)
	}
	request.Header.Set(header, value)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.fail("%v", err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	answer, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		s.fail("%s %s: %s: %v: %s", method, url, response.Status, err, answer)
	}
	return answer, response.Header.Get("Content-Type")
}

// imageVanished removes a container and its image from the host while the node is stopped. No registry has that image.
func imageVanished(s *scene) {
	s.turns++
	s.local = fmt.Sprintf("localhost/rookery-web:vanishes-%d", s.turns)
	s.image = s.local
	s.podmanLoads()
	if outcome := s.Outcome(s.pulls()); outcome.Outcome != "succeeded" {
		s.fail("ensure ended as %+v", outcome)
	}
	s.host.node.signal(syscall.SIGSTOP)
	resumes := func() { s.host.node.signal(syscall.SIGCONT) }
	s.heals(resumes)
	s.podman(s.host, "rm", "--force", "--time", "0", s.container("demo/pulled").ID)
	s.podman(s.host, "rmi", s.local)
	s.heals(s.podmanLoads)
	resumes()
	s.hears("service.demo.pulled.instance.offline", string(events.OfflineImagePull))
}
