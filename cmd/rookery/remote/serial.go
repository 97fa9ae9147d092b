package remote

import (
	"io"
	"sync"
)

// serial is a writer for several writers at once.
type serial struct {
	mu sync.Mutex
	to io.Writer
}

func (s *serial) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
