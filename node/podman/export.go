package podman

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/rookery-project/rookery/node"
)

// Export returns what the folder in the container holds, as Podman archives it: in the order of names, with times of change and
// none of access.
func (e *Engine) Export(ctx context.Context, c node.Container, path string) (io.ReadCloser, error) {
	answer, err := e.open(ctx, request{method: http.MethodGet, path: containerPath(c.Handle, "/archive"), query: url.Values{"path": {path}}})
	if err != nil {
		return nil, fmt.Errorf("archiving %s: %w", path, err)
	}
	return answer.Body, nil
}
