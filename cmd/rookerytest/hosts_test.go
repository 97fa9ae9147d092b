package rookerytest_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// network is a bridge on this machine with hosts at it. Its first address is this machine's own.
type network struct {
	t      testing.TB
	bridge string
	block  uint32 // the address before the first
	folder string // where the hosts' namespaces are held
	hosts  int
}

// blockBits is how many bits of an address tell the hosts of a network apart.
const blockBits = 4

// newNetwork makes a network of its own on this machine. Its bridge is named for its addresses, so a second bridge with the same addresses
// cannot exist.
func newNetwork(t testing.TB, random *rand.Rand) *network {
	t.Helper()
	// 198.18.0.0/15, which is set aside for tests of networks.
	const first, bits, tries = 198<<24 | 18<<16, 17, 20
	var out []byte
	for range tries {
		block := random.Uint32N(1 << (bits - blockBits))
		n := &network{t: t, bridge: fmt.Sprintf("rkz%04x", block), block: first + block<<blockBits, folder: t.TempDir()}
		var err error
		out, err = exec.Command("ip", "link", "add", n.bridge, "type", "bridge").CombinedOutput() //nolint:noctx // short
		if err != nil {
			continue
		}
		t.Cleanup(func() { sh(t, "ip", "link", "delete", n.bridge) })
		sh(t, "ip", "address", "add", n.prefix(1), "dev", n.bridge)
		sh(t, "ip", "link", "set", n.bridge, "up")
		return n
	}
	t.Fatalf("no network can be made: %s", out)
	return nil
}

// address returns the i-th address of the network.
func (n *network) address(i int) string {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n.block+uint32(i)))).String()
}

func (n *network) prefix(i int) string { return fmt.Sprintf("%s/%d", n.address(i), 32-blockBits) }

// host is what a machine of its own has: a network with one link to the others, and a Podman.
type host struct {
	t             testing.TB
	name, zone    string
	address, link string
	namespace     string
	uri           string // of its Podman
	node          *process
}

// newHost makes a host at the network, with a Podman. It ends with the test.
func (n *network) newHost(name, zone string) *host {
	n.t.Helper()
	h := n.newMachine(name, zone)
	n.t.Cleanup(h.checkRules)
	h.uri = podmantest.StartIn(n.t, h.namespace)
	return h
}

// newMachine makes a host without a Podman at the network. It ends with the test.
func (n *network) newMachine(name, zone string) *host {
	n.t.Helper()
	const machine = 1 // has the first address
	n.hosts++
	h := &host{
		t: n.t, name: name, zone: zone, address: n.address(machine + n.hosts),
		link: fmt.Sprintf("%s-%d", n.bridge, n.hosts), namespace: filepath.Join(n.folder, name),
	}
	if err := os.WriteFile(h.namespace, nil, 0o600); err != nil {
		n.t.Fatal(err)
	}
	// Mounted on a file of the test's own: what `ip netns add` makes is in a folder that all runs share.
	sh(n.t, "unshare", "--net="+h.namespace, "true")
	n.t.Cleanup(func() { umount(n.t, h.namespace) })
	sh(n.t, "ip", "link", "add", h.link, "type", "veth", "peer", "name", "eth0", "netns", h.namespace)
	n.t.Cleanup(func() { sh(n.t, "ip", "link", "delete", h.link) })
	sh(n.t, "ip", "link", "set", h.link, "master", n.bridge, "up")
	h.sh("ip", "link", "set", "lo", "up")
	h.sh("ip", "address", "add", n.prefix(machine+n.hosts), "dev", "eth0")
	h.sh("ip", "link", "set", "eth0", "up")
	return h
}

// checkRules fails the test where the Podman that was ended has left rules in the host's network.
func (h *host) checkRules() {
	if rules := h.sh("iptables-save"); strings.Contains(rules, "NETAVARK") {
		h.t.Errorf("the Podman of %s has left these rules:\n%s", h.name, rules)
	}
}

// sh runs a command of the system in the host's network.
func (h *host) sh(words ...string) string {
	h.t.Helper()
	return sh(h.t, "nsenter", append([]string{"--net=" + h.namespace}, words...)...)
}

// startNode runs the host's node as a process of its own.
func (h *host) startNode(server string, heartbeat time.Duration) {
	h.t.Helper()
	path, err := program()
	if err != nil {
		h.t.Fatal(err)
	}
	h.node = newProcess(h.t, exec.Command("nsenter", "--net="+h.namespace, path, "node", "--server", server, //nolint:noctx // ended by the test
		"--podman", h.uri, "--name", h.name, "--zone", h.zone, "--label", "host="+h.name, "--address", h.address,
		"--heartbeat", heartbeat.String()))
	h.node.cmd.Stdout = h.node.output
	h.node.start()
}

// listen listens in the host's network.
func (h *host) listen(address string) (net.Listener, error) {
	type opened struct {
		listener net.Listener
		err      error
	}
	done := make(chan opened)
	go func() {
		runtime.LockOSThread() // it is in another network from here on, and ends with this
		var o opened
		space, err := os.Open(h.namespace)
		if err == nil {
			err = errors.Join(unix.Setns(int(space.Fd()), unix.CLONE_NEWNET), space.Close())
		}
		if o.err = err; err == nil {
			o.listener, o.err = net.Listen("tcp", address) //nolint:noctx // it opens at once
		}
		done <- o
	}()
	o := <-done
	return o.listener, o.err
}

// cut takes the host's link down: it and this machine hear nothing of each other.
func (h *host) cut() { sh(h.t, "ip", "link", "set", h.link, "down") }

func (h *host) mend() { sh(h.t, "ip", "link", "set", h.link, "up") }

// podman runs Podman's own command on the host.
func (h *host) podman(words ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	path := filepath.Join(filepath.Dir(strings.TrimPrefix(h.uri, "unix://")), "podman")
	return exec.CommandContext(ctx, path, words...).Output()
}

// shown is a container as Podman's own command shows it.
type shown struct {
	ID        string
	PID       int `json:"Pid"`
	State     string
	StartedAt int64
	Labels    map[string]string
	host      *host
}

// slot is the slot that the container is an instance of, as in demo/web/0.
func (s *shown) slot() string { return s.service() + "/" + s.Labels[node.LabelOrdinal] }

func (s *shown) service() string {
	return s.Labels[node.LabelNamespace] + "/" + s.Labels[node.LabelService]
}

// containers lists the containers of the host's Podman, which needs no network for it.
func (h *host) containers() []shown {
	h.t.Helper()
	out, err := h.podman("ps", "--all", "--no-trunc", "--format", "json")
	if err != nil {
		h.t.Fatalf("podman ps on %s: %v", h.name, err)
	}
	var all []shown
	if err := json.Unmarshal(out, &all); err != nil {
		h.t.Fatalf("podman ps on %s: %v: %s", h.name, err, out)
	}
	for i := range all {
		all[i].host = h
	}
	return all
}
