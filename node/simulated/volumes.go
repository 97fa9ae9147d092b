package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Volume is a volume of a slot. It outlives the containers that have it.
type Volume struct {
	// Labels are those that it was made with, and mark is what stands beside it until it is full; "" for nothing.
	Labels map[string]string
	mark   string
	// Content is the digest of what it was filled from, as far as that came; "" for nothing. Starts is how many containers have started with
	// it since.
	Content string
	Starts  int
}

// mounted is where a container has volumes: their names by path.
type mounted map[string]string

func mountedBy(p node.Plan) mounted {
	m := mounted{}
	for _, v := range p.Order.Spec.Volumes {
		if v.Kind == events.VolumeNamed {
			m[v.Path] = p.VolumeName(v.Name)
		}
	}
	return m
}

// Due returns the volumes that are to be filled before the planned container is made.
func (e *Engine) Due(p node.Plan) []node.Fill {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(p.Fills(), func(f node.Fill) bool {
		v := e.volumes[f.Volume]
		return v != nil && !f.Due(v.Labels, v.mark != "")
	})
}

// BeginFill deletes the volume's content, creates the volume again and returns its mark. It fails if a container uses the volume.
func (e *Engine) BeginFill(p node.Plan, f node.Fill) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for handle, m := range e.mounted {
		for _, name := range m {
			if name == f.Volume {
				return "", p.Unfilled(f, "container "+handle+" has it")
			}
		}
	}
	e.made++
	mark := strconv.Itoa(e.made)
	e.volumes[f.Volume] = &Volume{Labels: f.Labels(p, mark), mark: mark}
	return mark, nil
}

// EndFill has the volume of this mark hold the content, if that can be read to its end.
func (e *Engine) EndFill(p node.Plan, f node.Fill, mark string, content io.Reader) error {
	sum := sha256.New()
	_, err := io.Copy(sum, content)
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.volumes[f.Volume]
	if v == nil || v.mark != mark {
		return p.Unfilled(f, "another process has filled it")
	}
	v.Content = hex.EncodeToString(sum.Sum(nil))
	if err != nil {
		return p.Unfilled(f, err.Error())
	}
	v.mark = ""
	return nil
}

// fill fills the volumes that are to be.
func (e *Engine) fill(ctx context.Context, p node.Plan) error {
	for _, f := range e.Due(p) {
		content, err := p.Content(ctx, f.Export)
		if err != nil {
			return p.Unfilled(f, err.Error())
		}
		mark, err := e.BeginFill(p, f)
		if err == nil {
			err = e.EndFill(p, f, mark, content)
		}
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Volumes returns what the container has of volumes, by path.
func (e *Engine) Volumes(c node.Container) map[string]Volume {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := map[string]Volume{}
	for path, name := range e.mounted[c.Handle] {
		all[path] = *e.volumes[name]
	}
	return all
}

// Export implements node.Engine: a folder holds which container has it, when that held still last, and what volume it is.
func (e *Engine) Export(_ context.Context, exported node.Container, path string) (io.ReadCloser, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, c := e.byHandle(exported.Handle)
	if c == nil {
		return nil, fmt.Errorf("export %s: no such container", exported.Handle)
	}
	text := fmt.Sprint(c.Instance, " ", c.Handle, path, e.held[c.Handle])
	if v := e.volumes[e.mounted[c.Handle][path]]; v != nil {
		text += fmt.Sprint(" ", v.Starts, " starts after ", v.Content)
	}
	return io.NopCloser(strings.NewReader(text)), nil
}
