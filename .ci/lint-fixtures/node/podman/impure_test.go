package podman_test

import (
	"net/http"
	"os/exec"
	"testing"
	"time"
)

func TestImpure(t *testing.T) {
	t.Log(http.MethodGet, exec.ErrNotFound, time.Now())
}
