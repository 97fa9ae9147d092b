// Package embedded runs a NATS server with JetStream inside this process, kept as production keeps it: every
// acknowledged message is on disk before its acknowledgement.
package embedded

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// readyTimeout bounds how long a server may take to be ready.
const readyTimeout = 30 * time.Second

// ErrNotReady occurs when the server does not come up in time.
var ErrNotReady = errors.New("the NATS server did not become ready")

// Server is a NATS server in this process.
type Server struct{ server *server.Server }

// AnyPort makes the server listen on a free port.
const AnyPort = server.RANDOM_PORT

// Start runs a server on host and port that keeps its streams in the folder dir. The caller ends it with Stop.
func Start(dir, host string, port int) (*Server, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "rookery", Host: host, Port: port, StoreDir: dir,
		JetStream: true, SyncAlways: true,
		NoSigs: true, // signals are the process's own to handle: the server would exit before anything is cleaned up
		NoLog:  true,
	})
	if err != nil {
		return nil, fmt.Errorf("make the NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(readyTimeout) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("%w within %s on %s:%d with its store in %s", ErrNotReady, readyTimeout, host, port, dir)
	}
	return &Server{server: s}, nil
}

// URL is where clients connect.
func (s *Server) URL() string { return s.server.ClientURL() }

// Connect returns a connection within the process.
func (s *Server) Connect(name string) (*nats.Conn, error) {
	conn, err := nats.Connect("", nats.InProcessServer(s.server), nats.Name(name), nats.MaxReconnects(-1))
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded NATS server: %w", err)
	}
	return conn, nil
}

// Stop ends the server and returns when it has ended.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}
