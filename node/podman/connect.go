package podman

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containers/podman/v5/pkg/bindings"
	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/watchdog"
)

// Engine is a Podman service behind a unix socket. Its methods may be called from many goroutines at once.
type Engine struct {
	client *http.Client
	// visible reports whether the node sees the service's processes, under the same ids.
	visible bool
	limits  []rlimit
	// authFile is the file of credentials for registries; "" for none.
	authFile string
	// unusedFor is how long a pulled image may be unused before Prune removes it; 0 for no limit.
	unusedFor time.Duration
	// watchdog kills exclusive containers in time; nil for none.
	watchdog *watchdog.Client
	// pulls measures the pulls of images; nil for no measurement.
	pulls *pulls
	// exitFolder is the folder in which monitors write exit codes; nil until the engine has asked one.
	exitFolder atomic.Pointer[string]

	// known is what Podman reported about itself; nil until the engine has asked.
	known atomic.Pointer[info]

	mu sync.Mutex
	// watchers receive the handle of every container that this engine starts.
	watchers map[chan string]struct{}
	// recent are containers, by handle, whose processes have ended since the last Inspect of each.
	recent map[string]*inspected
	// starved are containers, by handle, that the kernel was seen to kill because they ran out of memory.
	starved map[string]struct{}
	// monitored are the containers that were guarded, by handle or name, as the watchdog knows them.
	monitored map[string]monitored
}

var _ node.Engine = (*Engine)(nil)

const (
	// idleConnections is how many connections stay open between calls: as many as calls of a busy node overlap.
	idleConnections = 16
	idleTime        = 30 * time.Second
)

// Connect opens the Podman service at uri, as in unix:///run/podman/podman.sock. It reads no environment variables. The error says what
// Connect tried and what to do. Close the engine when done.
//
// If a service accepts and never answers, Connect gives up at most 0.6 s after ctx has ended: Podman's bindings sleep between their
// attempts.
func Connect(ctx context.Context, uri string) (*Engine, error) {
	address, err := url.Parse(uri)
	if err != nil || address.Scheme != "unix" || address.Host != "" || !filepath.IsAbs(address.Path) {
		return nil, fmt.Errorf("%q is not the address of a Podman service: write unix:// and the path of its socket, "+
			"as in unix:///run/podman/podman.sock", uri)
	}
	visible, err := sharesProcesses(ctx, address.Path)
	if err != nil {
		return nil, unreachable(uri, err)
	}
	connected, err := bindings.NewConnection(ctx, uri)
	if err != nil {
		return nil, unreachable(uri, err)
	}
	connection, err := bindings.GetClient(connected)
	if err != nil {
		return nil, unreachable(uri, err)
	}
	connection.Client.CloseIdleConnections()
	return &Engine{
		client: &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return connection.GetDialer(ctx)
			},
			DisableCompression:  true,
			MaxIdleConnsPerHost: idleConnections,
			IdleConnTimeout:     idleTime,
		}},
		visible:  visible,
		limits:   ulimits(),
		watchers: map[chan string]struct{}{},
		recent:   map[string]*inspected{},
		starved:  map[string]struct{}{},

		monitored: map[string]monitored{},
	}, nil
}

// Close closes the connections that no call uses. Containers and the watchdog keep running.
func (e *Engine) Close() {
	e.client.CloseIdleConnections()
	if e.watchdog != nil {
		_ = e.watchdog.Close() // the connection buffers nothing
	}
}

func unreachable(uri string, err error) error {
	return fmt.Errorf("connecting to Podman at %s: %w; is its service running? Start it with "+
		"\"systemctl start podman.socket\", or by hand with \"podman system service --time 0 %s\"", uri, err, uri)
}

// sharesProcesses reports whether the process that listens on the socket is in the node's process namespace. This is not so for a node
// in a container with the socket mounted. There, Podman's process ids would belong to other processes or to none.
func sharesProcesses(ctx context.Context, path string) (bool, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return false, err
	}
	defer func() { _ = connection.Close() }() // nothing was written
	socket, err := connection.(*net.UnixConn).SyscallConn()
	if err != nil {
		return false, err
	}
	var peer *unix.Ucred
	var peerErr error
	err = socket.Control(func(fd uintptr) {
		peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || peerErr != nil || peer.Pid <= 0 {
		return false, nil // the peer is not visible: rely on Podman alone
	}
	theirs, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(int(peer.Pid)), "ns/pid"))
	if err != nil {
		return false, nil
	}
	ours, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && ours == theirs, nil
}
