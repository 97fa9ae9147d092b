package podman

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// pull fetches the image with the credentials that the node has now. Errors are *node.Failure where it cannot be had.
func (e *Engine) pull(ctx context.Context, image string, policy events.PullPolicy) error {
	auth, err := readAuthFile(e.authFile)
	if err != nil {
		return pullFailed(image, err.Error())
	}
	if err := auth.check(image); err != nil {
		return pullFailed(image, err.Error())
	}
	header, err := auth.header()
	if err != nil {
		return err
	}
	began := time.Now()
	err = e.fetch(ctx, image, policy, header)
	e.pulls.done(ctx, time.Since(began), err)
	if failed := new(node.Failure); errors.As(err, &failed) {
		return pullFailed(image, auth.advice(image, failed.Message)+failed.Message)
	}
	return err
}

// fetch has Podman fetch the image. Podman answers 200 before it has tried: an error is a line of the answer, and so is
// the id of the image that was had.
func (e *Engine) fetch(ctx context.Context, image string, policy events.PullPolicy, header http.Header) error {
	answer, err := e.open(ctx, request{
		method: http.MethodPost, path: "/images/pull", header: header,
		query: url.Values{"reference": {image}, "policy": {string(policy)}},
	})
	if refused := new(refusal); errors.As(err, &refused) {
		return unfetched(refused.Message)
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
			return unfetched("Podman told neither an image nor an error")
		case err != nil:
			return fmt.Errorf("pulling image %s: %w", image, err)
		case line.Error != "":
			return unfetched(line.Error)
		}
		had = had || line.ID != ""
	}
}

func unfetched(message string) error {
	return &node.Failure{Reason: events.OfflineImagePull, Message: message}
}

func pullFailed(image, message string) error {
	return unfetched("image " + image + ": " + message)
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
