// Command draw draws the screens of a folder from what a Prometheus answers, and says which of their panels have nothing to show:
//
//	draw -prometheus http://127.0.0.1:9090 -screens deploy/grafana -from 2026-03-04T11:00:00Z -var __interval=6s -into pictures
//
// It prints a JSON object with the titles of the panels that are empty, by the names of the screens' files.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/rookery-project/rookery/deploy/grafana/check/pictures"
	"github.com/rookery-project/rookery/deploy/grafana/query"
	"github.com/rookery-project/rookery/deploy/grafana/written"
)

// drawing is what is drawn, and where to.
type drawing struct {
	ask      promv1.API
	vars     map[string]string
	from, to time.Time
	into     string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}

func run() error {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(interrupted, patience)
	defer cancel()
	address := flag.String("prometheus", "http://127.0.0.1:9090", "the `URL` of a Prometheus")
	folder := flag.String("screens", "..", "the `folder` with the screens' files")
	into := flag.String("into", "", "write a picture of each screen into this `folder` (default: no pictures)")
	from := flag.String("from", "", "the `time` at which the screens begin, as in 2026-03-04T11:00:00Z; they end now")
	vars := query.Everything()
	flag.Func("var", "`name=value` of a variable or macro; may be given several times", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("write it as __interval=6s")
		}
		vars[name] = value
		return nil
	})
	flag.Parse()
	began, err := time.Parse(time.RFC3339, *from)
	if err != nil {
		return fmt.Errorf("-from: %w", err)
	}
	client, err := api.NewClient(api.Config{Address: *address})
	if err != nil {
		return fmt.Errorf("-prometheus: %w", err)
	}
	screens, err := written.Screens(os.DirFS(*folder))
	if err != nil {
		return err
	}
	d := drawing{promv1.NewAPI(client), maps.Clone(vars), began, time.Now(), *into}
	empty := map[string][]string{}
	for _, s := range screens {
		picture, err := d.draw(ctx, s)
		if err != nil {
			return err
		}
		if len(picture.Empty) > 0 {
			empty[s.File] = picture.Empty
		}
	}
	return json.NewEncoder(os.Stdout).Encode(empty)
}

// draw draws a screen, and writes its picture where that is asked for.
func (d drawing) draw(ctx context.Context, s written.Screen) (pictures.Picture, error) {
	picture, err := pictures.Draw(ctx, d.ask, s, d.vars, d.from, d.to)
	if err != nil || d.into == "" {
		return picture, err
	}
	body, err := picture.PNG()
	if err != nil {
		return picture, err
	}
	return picture, os.WriteFile(filepath.Join(d.into, strings.TrimSuffix(s.File, ".json")+".png"), body, 0o600)
}
