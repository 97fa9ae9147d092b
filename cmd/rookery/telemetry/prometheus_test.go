package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestWhoHasGoneIsNotComplainedOf lets Prometheus disconnect in the middle of an answer.
func TestWhoHasGoneIsNotComplainedOf(t *testing.T) {
	var lines bytes.Buffer
	c := complaints{slog.New(slog.NewTextHandler(&lines, nil))}
	c.Println("error encoding and sending metric family:", context.Canceled)
	c.Println("error encoding and sending metric family:", fmt.Errorf("write: %w", http.ErrHandlerTimeout))
	if lines.Len() > 0 {
		t.Errorf("it logs a warning: %s", &lines)
	}
	c.Println("error gathering metrics:", errors.New("two of one name"))
	if !strings.Contains(lines.String(), `level=WARN msg="error gathering metrics: two of one name"`) {
		t.Errorf("for a real error it logs %q", &lines)
	}
}
