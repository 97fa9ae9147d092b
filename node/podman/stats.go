package podman

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rookery-project/rookery/node"
)

// used is what Podman says of a running container. From version 5 on it tells the bytes of each network.
type used struct {
	ContainerID string
	Name        string
	CPUNano     uint64
	MemUsage    uint64
	NetInput    uint64
	NetOutput   uint64
	Network     map[string]struct{ RxBytes, TxBytes uint64 }
}

// Stats measures all running containers of the host with one call. Sidecars are known by their names, so all are. Podman says 0 of
// what it cannot tell.
func (e *Engine) Stats(ctx context.Context) (map[string]node.Stats, error) {
	var answer struct {
		Error *struct{ Message string }
		Stats []used
	}
	err := e.do(ctx, request{method: http.MethodGet, path: "/containers/stats", query: url.Values{"stream": {"false"}}}, &answer)
	if err == nil && answer.Error != nil {
		err = fmt.Errorf("podman says: %s", answer.Error.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("measuring containers: %w", err)
	}
	all := make(map[string]node.Stats, len(answer.Stats))
	for _, u := range answer.Stats {
		all[u.ContainerID], all[u.Name] = u.stats(), u.stats()
	}
	return all, nil
}

func (u used) stats() node.Stats {
	for _, n := range u.Network {
		u.NetInput, u.NetOutput = u.NetInput+n.RxBytes, u.NetOutput+n.TxBytes
	}
	s := node.Stats{CPU: told(time.Duration(u.CPUNano)), Memory: told(u.MemUsage)}
	if u.NetInput > 0 || u.NetOutput > 0 { // one that has none of its own has neither
		s.Received, s.Sent = &u.NetInput, &u.NetOutput
	}
	return s
}

// told returns what Podman says of something that is above 0 wherever it can be measured.
func told[N time.Duration | uint64](n N) *N {
	if n == 0 {
		return nil
	}
	return &n
}
