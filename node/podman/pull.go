package podman

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// pull fetches the image. Podman answers 200 before it has tried: an error is a line of the answer, and so is the id
// of the image that was had.
func (e *Engine) pull(ctx context.Context, image string, policy events.PullPolicy) error {
	answer, err := e.open(ctx, request{
		method: http.MethodPost, path: "/images/pull",
		query: url.Values{"reference": {image}, "policy": {string(policy)}},
	})
	if refused := new(refusal); errors.As(err, &refused) {
		return pullFailed(image, refused.Message)
	}
	if err != nil {
		return fmt.Errorf("pulling image %s: %w", image, err)
	}
	defer func() { _ = answer.Body.Close() }() // read to its end below
	var had bool
	for lines := json.NewDecoder(answer.Body); ; {
		var line struct {
			Error string `json:"error"`
			ID    string `json:"id"`
		}
		err := lines.Decode(&line)
		switch {
		case errors.Is(err, io.EOF) && had:
			return nil
		case errors.Is(err, io.EOF):
			return pullFailed(image, "Podman told neither an image nor an error")
		case err != nil:
			return fmt.Errorf("pulling image %s: %w", image, err)
		case line.Error != "":
			return pullFailed(image, line.Error)
		}
		had = had || line.ID != ""
	}
}

func pullFailed(image, message string) error {
	return &node.Failure{Reason: events.OfflineImagePull, Message: "image " + image + ": " + message}
}

// Load stores the images of a docker-archive, as deploy/image makes them.
func (e *Engine) Load(ctx context.Context, archive io.Reader) error {
	var loaded struct {
		Names []string
	}
	err := e.do(ctx, request{method: http.MethodPost, path: "/images/load", body: archive}, &loaded)
	if err == nil && len(loaded.Names) == 0 {
		err = errors.New("there is none in the archive")
	}
	if err != nil {
		return fmt.Errorf("loading an image: %w", err)
	}
	return nil
}
