package bus

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/mod/semver"
)

// OldestServer is the oldest version of nats-server that Rookery supports. It is the first that stores a batch of messages as one or not at
// all, as Append needs.
const OldestServer = "2.12.0"

// ErrOldServer occurs when a server is older than OldestServer.
var ErrOldServer = errors.New("the oldest supported version is " + OldestServer)

// Server is a NATS server and its version. The version is empty for a server whose certificate has ended: its name is that in the certificate,
// or else its address.
type Server struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// CertificateEnds is when the first certificate of the server's chain ends; zero for a server without TLS.
	CertificateEnds time.Time `json:"certificate_ends,omitzero"`
}

// Err returns nil for a server that is supported, else ErrOldServer. A version that is not one of semantic versioning passes: it is a build of
// its own.
func (s Server) Err() error {
	version := "v" + s.Version
	if semver.IsValid(version) && semver.Compare(version, "v"+OldestServer) < 0 {
		return fmt.Errorf("server %s runs nats-server %s: %w", s.Name, s.Version, ErrOldServer)
	}
	return nil
}

// serverFor is how long Servers waits for one server.
const serverFor = 2 * time.Second

// metadataVersion is where a server puts its version into what it says of a stream that it leads.
const metadataVersion = "_nats.ver"

// Servers returns the servers that the client sees, by name: the one that it is connected to, those that this one tells of, and the one that
// leads the log, which may be behind a leaf node. It leaves out those that do not answer, except those whose own certificate has ended.
func (b *JetStream) Servers(ctx context.Context) []Server {
	ctx, cancel := context.WithTimeout(ctx, serverFor)
	defer cancel()
	known := b.conn.ServerPool()
	found := make([]Server, len(known)+1)
	var asked sync.WaitGroup
	for i, server := range known {
		asked.Go(func() { found[i] = b.serverAt(server.URL.String()) })
	}
	asked.Go(func() { found[len(known)] = b.logLeader(ctx) })
	asked.Wait()
	found = append(found, b.connected())
	return merged(found)
}

// merged returns the servers by name, each once: the leader of the log is seen without its certificate, and a server whose certificate has
// ended without its version.
func merged(found []Server) (all []Server) {
	slices.SortFunc(found, func(a, b Server) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version)) })
	for _, s := range found {
		if s.Name == "" || (s.Version == "" && s.CertificateEnds.IsZero()) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].Name != s.Name || (all[len(all)-1].Version != "" && all[len(all)-1].Version != s.Version) {
			all = append(all, s)
			continue
		}
		last := &all[len(all)-1]
		last.Version = s.Version
		if s.CertificateEnds.After(last.CertificateEnds) { // a connection that is open may be from before a renewal
			last.CertificateEnds = s.CertificateEnds
		}
	}
	return all
}

func (b *JetStream) connected() Server { return serverOf(b.conn) }

func serverOf(conn *nats.Conn) Server {
	s := Server{Name: conn.ConnectedServerName(), Version: conn.ConnectedServerVersion()}
	state, err := conn.TLSConnectionState()
	if err != nil {
		return s // the connection is without TLS
	}
	s.CertificateEnds = state.PeerCertificates[0].NotAfter
	for i, chain := range state.VerifiedChains {
		first := slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		if i == 0 || first.NotAfter.After(s.CertificateEnds) { // one valid chain is enough
			s.CertificateEnds = first.NotAfter
		}
	}
	return s
}

// serverAt asks the server at the URL by a connection of its own, as the user of this one.
func (b *JetStream) serverAt(url string) Server {
	options := b.conn.Opts
	options.Url, options.Servers = url, nil
	options.Timeout, options.IgnoreDiscoveredServers = serverFor, true
	options.AllowReconnect, options.RetryOnFailedConnect = false, false
	options.ConnectedCB, options.ClosedCB, options.DisconnectedCB, options.DisconnectedErrCB = nil, nil, nil, nil
	options.ReconnectedCB, options.DiscoveredServersCB, options.AsyncErrorCB = nil, nil, nil
	conn, err := options.Connect()
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && time.Now().After(invalid.Cert.NotAfter):
		return Server{Name: cmp.Or(invalid.Cert.Subject.CommonName, url), CertificateEnds: invalid.Cert.NotAfter}
	case err != nil:
		return Server{}
	}
	defer conn.Close()
	return serverOf(conn)
}

// logLeader returns the server that leads the log; without a cluster, older servers do not say their name.
func (b *JetStream) logLeader(ctx context.Context) Server {
	found, err := b.js.Stream(ctx, string(Log))
	if err != nil || found.CachedInfo().Cluster == nil {
		return Server{}
	}
	info := found.CachedInfo()
	return Server{Name: info.Cluster.Leader, Version: info.Config.Metadata[metadataVersion]}
}
