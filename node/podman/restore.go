package podman

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// giveUpTimeout bounds the removal of a partly filled volume. The removal also runs after the call that filled it was cancelled.
const giveUpTimeout = 10 * time.Second

// volume is one of Podman's.
type volume struct {
	Name   string
	Labels map[string]string
}

// fill fills the volumes of the plan that are due. The host must already have the image of the planned container.
func (e *Engine) fill(ctx context.Context, plan node.Plan) error {
	due, err := e.due(ctx, plan)
	for i := 0; i < len(due) && err == nil; i++ {
		err = e.fillOne(ctx, plan, due[i])
		if known := new(node.Failure); err != nil && !errors.As(err, &known) {
			err = plan.Unfilled(due[i], err.Error())
		}
	}
	return err
}

// due returns the volumes of the plan that the node must fill.
func (e *Engine) due(ctx context.Context, plan node.Plan) ([]node.Fill, error) {
	var due []node.Fill
	for _, f := range plan.Fills() {
		found, err := e.volume(ctx, f.Volume)
		if err != nil {
			return nil, err
		}
		marked, err := e.marked(ctx, found)
		if err != nil {
			return nil, err
		}
		if f.Due(found.Labels, marked) {
			due = append(due, f)
		}
	}
	return due, nil
}

// filled checks that a new container has the volumes that the node filled. From now on the container uses them, so that an operator can
// no longer remove them.
func (e *Engine) filled(ctx context.Context, plan node.Plan) error {
	due, err := e.due(ctx, plan)
	if err == nil && len(due) > 0 {
		err = plan.Unfilled(due[0], "it was removed after it had been filled")
	}
	return err
}

// marked reports whether the volume's mark exists.
func (e *Engine) marked(ctx context.Context, v volume) (bool, error) {
	if v.Labels[node.LabelMark] == "" {
		return false, nil
	}
	mark, err := e.volume(ctx, v.Labels[node.LabelMark])
	return mark.Name == v.Labels[node.LabelMark], err
}

// volume returns the volume of this name; the zero volume if it does not exist. It asks Podman first whether the volume exists. Podman
// would otherwise inspect, or remove, a volume whose name begins with this one.
func (e *Engine) volume(ctx context.Context, name string) (volume, error) {
	var found volume
	err := e.do(ctx, request{method: http.MethodGet, path: volumePath(name, "/exists")}, nil)
	if err == nil {
		err = e.do(ctx, request{method: http.MethodGet, path: volumePath(name, "/json")}, &found)
	}
	if refused := new(refusal); errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return volume{}, nil
	}
	if err != nil {
		return volume{}, fmt.Errorf("looking at volume %s: %w", name, err)
	}
	return found, nil
}

func volumePath(name, what string) string { return "/volumes/" + url.PathEscape(name) + what }

// removeVolume removes the volume, which no container may use. It does nothing if the volume is gone.
func (e *Engine) removeVolume(ctx context.Context, name string) error {
	if found, err := e.volume(ctx, name); err != nil || found.Name != name {
		return err
	}
	err := e.do(ctx, request{method: http.MethodDelete, path: volumePath(name, "")}, nil)
	switch refused := new(refusal); {
	case err == nil, errors.As(err, &refused) && refused.status == http.StatusNotFound:
		return nil
	case refused.says("being used"):
		return fmt.Errorf("%w: its content stays until that container is gone: remove the container with \"podman rm\"", err)
	}
	return fmt.Errorf("removing volume %s: %w", name, err)
}

// fillOne creates the volume again and fills it. It opens the new content before it removes the old volume.
func (e *Engine) fillOne(ctx context.Context, plan node.Plan, f node.Fill) error {
	content, err := plan.Content(ctx, f.Export)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was read to its end, or has failed
	before, err := e.volume(ctx, f.Volume)
	if err == nil {
		err = e.abandon(ctx, plan.Owner, before.Labels[node.LabelMark], f.Volume)
	}
	if err != nil {
		return err
	}
	mark, err := e.mark(ctx, plan, f)
	if err != nil {
		return err
	}
	err = e.makeMarked(ctx, plan, f, mark)
	if refused := new(refusal); errors.As(err, &refused) {
		_ = e.removeVolume(ctx, mark) // it marks nothing: another process has created the volume meanwhile
	}
	if err != nil {
		return err // without an answer, Podman may still create the volume, and the mark says that it is not full
	}
	if err = e.fillMarked(ctx, plan, f, content); err == nil {
		err = e.do(ctx, request{method: http.MethodDelete, path: volumePath(mark, "")}, nil)
	}
	if err != nil {
		e.giveUp(ctx, plan.Owner, mark, f.Volume)
	}
	return err
}

// mark creates the mark of a volume to fill, under a unique name, and returns that name.
func (e *Engine) mark(ctx context.Context, plan node.Plan, f node.Fill) (string, error) {
	var made volume
	err := e.do(ctx, request{method: http.MethodPost, path: "/volumes/create", body: map[string]any{
		"Label": plan.Owner.MarkLabels(f.Volume),
	}}, &made)
	return made.Name, err
}

// makeMarked creates the volume, whose mark exists.
func (e *Engine) makeMarked(ctx context.Context, plan node.Plan, f node.Fill, mark string) error {
	return e.do(ctx, request{method: http.MethodPost, path: "/volumes/create", body: map[string]any{
		"Name": f.Volume, "Label": f.Labels(plan, mark),
		// Otherwise, on the first mount, Podman gives the folder the owner and mode of the image's folder, and copies that into an empty volume.
		"Options": map[string]string{"o": "uid=0,gid=0", "nocopy": ""},
	}}, nil)
}

// fillMarked fills the volume through a container that mounts it and never starts.
func (e *Engine) fillMarked(ctx context.Context, plan node.Plan, f node.Fill, content io.Reader) error {
	image := programOf(plan).image
	id, err := e.createWithImage(ctx, createRequest{
		Image: cmp.Or(plan.Images[image], image), Entrypoint: []string{"/none"}, Labels: plan.Owner.MarkLabels(f.Volume),
		Log: logging{Driver: "none"}, Restart: "no", CapDrop: []string{"all"}, NoNewPrivs: true, NetNS: namespace{Mode: "none"},
		mounts:    mounts{Volumes: []namedVolume{{f.Volume, f.Path, []string{"rw"}}}},
		Resources: limits(events.Resources{}), Systemd: "false",
	}, plan)
	if err != nil {
		return err
	}
	if err := e.upload(ctx, id, f.Path, content); err != nil {
		return err
	}
	// This fails if the container is gone: then another process fills the volume, too.
	return e.do(ctx, request{method: http.MethodDelete, path: containerPath(id, ""), query: url.Values{"volumes": {"true"}}}, nil)
}

// upload writes the content into the folder in the container. It reads the content to its end.
func (e *Engine) upload(ctx context.Context, id, folder string, content io.Reader) error {
	reader, writer := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := relay(writer, content)
		writer.CloseWithError(err)
		read <- err
	}()
	err := e.do(ctx, request{
		method: http.MethodPut, path: containerPath(id, "/archive"), query: url.Values{"path": {folder}, "copyUIDGID": {"false"}}, body: reader,
	}, nil)
	reader.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
	readErr := <-read
	if readErr == nil || (err != nil && errors.Is(readErr, io.ErrClosedPipe)) {
		return err
	}
	return readErr // Podman's error says only that the content ended
}

// relay rewrites the archive of a folder as an archive of the folder's content. It reads the archive to its end.
func relay(to io.Writer, content io.Reader) error {
	from, into := tar.NewReader(content), tar.NewWriter(to)
	for folder := ""; ; {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && folder == "" {
			folder = absolute(header.Name) // the folder comes before its content
		}
		if err == nil {
			err = move(header, folder)
		}
		if err != nil {
			return drained(content, err)
		}
		if err := into.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.Copy(into, from); err != nil {
			return err
		}
	}
	if err := into.Close(); err != nil && !errors.Is(err, io.ErrClosedPipe) { // Podman may have read enough before that
		return err
	}
	return drained(content, nil)
}

// drained reads the content to its end, which verifies its digest. A wrong digest is the cause of err, so drained returns that error
// instead.
func drained(content io.Reader, err error) error {
	if _, readErr := io.Copy(io.Discard, content); readErr != nil {
		return readErr
	}
	return err
}

func absolute(name string) string { return path.Clean("/" + name) }

// move makes the header's names relative to the folder.
func move(header *tar.Header, folder string) error {
	names := []*string{&header.Name}
	if header.Typeflag == tar.TypeLink {
		names = append(names, &header.Linkname)
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(absolute(*name), "/")+"/", strings.TrimSuffix(folder, "/")+"/")
		if !ok {
			return fmt.Errorf("its archive is of %s, and has %s", folder, *name)
		}
		*name = "./" + strings.TrimSuffix(rest, "/")
	}
	return nil
}

// giveUp removes a partly filled volume if it can. Otherwise the node removes it before it fills the volume again, or when it restarts.
func (e *Engine) giveUp(ctx context.Context, owner node.Owner, mark, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
	defer cancel()
	_ = e.abandon(ctx, owner, mark, name)
}

// abandon removes a partly filled volume, its fillers and its mark. The mark goes last, because it says that the volume is not full.
func (e *Engine) abandon(ctx context.Context, owner node.Owner, mark, name string) error {
	if err := e.removeFillers(ctx, owner, name); err != nil {
		return err
	}
	if err := e.removeVolume(ctx, name); err != nil || mark == "" {
		return err
	}
	return e.removeVolume(ctx, mark)
}

// removeFillers removes the containers that fill the volume; for "" those of all volumes of the owner.
func (e *Engine) removeFillers(ctx context.Context, owner node.Owner, name string) error {
	rows, err := e.rows(ctx, owner)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if of := row.Labels[node.LabelFills]; of == "" || (name != "" && of != name) {
			continue
		}
		if err := e.Remove(ctx, node.Container{Handle: row.ID}); err != nil {
			return err
		}
	}
	return nil
}

// tidyFills removes the owner's partly filled volumes, with their fillers and marks.
func (e *Engine) tidyFills(ctx context.Context, owner node.Owner) error {
	if err := e.removeFillers(ctx, owner, ""); err != nil {
		return err
	}
	var marks []volume
	query := filters(map[string][]string{"label": {node.LabelFills}}) // given several labels, Podman matches any of them
	if err := e.do(ctx, request{method: http.MethodGet, path: "/volumes/json", query: query}, &marks); err != nil {
		return fmt.Errorf("listing volumes: %w", err)
	}
	for _, mark := range marks {
		name := mark.Labels[node.LabelFills]
		if name == "" || !maps.Equal(mark.Labels, owner.MarkLabels(name)) {
			continue
		}
		filled, err := e.volume(ctx, name)
		if err != nil {
			return err
		}
		if filled.Labels[node.LabelMark] == mark.Name {
			err = e.removeVolume(ctx, name)
		}
		if err == nil {
			err = e.removeVolume(ctx, mark.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
