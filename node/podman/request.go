package podman

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

const (
	// base names the oldest version of the interface that the engine uses: later services answer it in the same form.
	base = "http://podman/v4.0.0/libpod"
	// maxAnswer bounds an answer: 10,000 listed containers are about 20 MiB.
	maxAnswer = 64 << 20
)

// refusal is Podman's answer to a failed call. Most have status 500, so only the message tells them apart.
type refusal struct {
	status  int
	Cause   string `json:"cause"`
	Message string `json:"message"`
}

// Error returns Podman's message.
func (r *refusal) Error() string { return r.Message }

// says reports whether the refusal has the words.
func (r *refusal) says(words string) bool {
	return strings.Contains(r.Cause, words) || strings.Contains(r.Message, words)
}

// gone reports whether a call failed because the container does not exist. Podman answers with status 500 if the container is removed
// while Podman inspects it.
func gone(err error) bool {
	refused := new(refusal)
	return errors.As(err, &refused) && (refused.status == http.StatusNotFound || refused.says("no such container"))
}

// within returns the tracer for calls in the span of ctx. Without a span, the tracer records nothing.
func within(ctx context.Context) trace.Tracer {
	return trace.SpanFromContext(ctx).TracerProvider().Tracer("github.com/rookery-project/rookery/node/podman")
}

// request is one call of the service. A body that is an io.Reader is sent as it is, any other as JSON.
type request struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   any
}

// containerPath returns the path of a call about one container, given its handle or name.
func containerPath(container, what string) string {
	return "/containers/" + url.PathEscape(container) + what
}

// open sends the request and returns the answer, whose body the caller must close. The error is a *refusal if Podman answered with an
// error.
func (e *Engine) open(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	kind := ""
	switch b := r.body.(type) {
	case nil:
	case io.Reader:
		body, kind = b, "application/x-tar"
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return nil, fmt.Errorf("encoding a request: %w", err)
		}
		body, kind = bytes.NewReader(encoded), "application/json"
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, base+r.path, body)
	if err != nil {
		return nil, err
	}
	sent.URL.RawQuery = r.query.Encode()
	maps.Copy(sent.Header, r.header)
	if kind != "" {
		sent.Header.Set("Content-Type", kind)
	}
	_, span := within(ctx).Start(ctx, "podman "+r.method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", r.method), attribute.String("url.path", r.path)))
	answer, err := e.client.Do(sent)
	if err == nil {
		span.SetAttributes(attribute.Int("http.response.status_code", answer.StatusCode))
		if answer.StatusCode >= http.StatusBadRequest {
			span.SetStatus(codes.Error, answer.Status)
		}
	} else {
		span.SetStatus(codes.Error, "no answer")
	}
	span.End()
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		return nil, wrapped.Err // without the request's address, which does not help the operator
	}
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		defer func() { _ = answer.Body.Close() }() // read below, as far as it goes
		return nil, readRefusal(answer)
	}
	return answer, nil
}

func readRefusal(answer *http.Response) error {
	refused := &refusal{status: answer.StatusCode}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	if json.Unmarshal(text, refused) != nil || refused.Message == "" {
		refused.Message = fmt.Sprintf("status %d: %s", answer.StatusCode, bytes.TrimSpace(text))
	}
	return refused
}

// do sends the request and reads the answer's JSON into into, unless it is nil.
func (e *Engine) do(ctx context.Context, r request, into any) error {
	answer, err := e.open(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // read to its end below
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("parsing Podman's answer: %w", err)
	}
	return nil
}

// filters encodes the filters of a list or of events.
func filters(by map[string][]string) url.Values {
	encoded, err := json.Marshal(by)
	if err != nil {
		panic(fmt.Sprintf("a map of strings does not encode: %v", err))
	}
	return url.Values{"filters": {string(encoded)}}
}
