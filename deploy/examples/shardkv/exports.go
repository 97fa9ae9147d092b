package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// maxLine is the longest line of an export: a value in base64, a key in which every byte is escaped, and the names.
const maxLine = maxValue/3*4 + maxKey*6 + 256

// exported is one line of an export. The last one has Total, the number of keys, and nothing else: an export without it
// is not whole.
type exported struct {
	Key string `json:"key,omitempty"`
	entry
	Total *int `json:"total,omitempty"`
}

// export answers with the entries here of the keys that a shape gives to a slot.
func (i *instance) export(w http.ResponseWriter, r *http.Request) {
	ordinal, under, err := exportQuery(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := i.reach(under); err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	found, err := i.keys.owned(ordinal, under)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	for key, e := range found {
		if err := lines.Encode(exported{Key: key, entry: e}); err != nil {
			return // the peer has gone
		}
	}
	total := len(found)
	if err := lines.Encode(exported{Total: &total}); err != nil {
		i.log.Warn("exporting", "ordinal", ordinal, "error", err)
	}
}

// reach makes this slot release to the shape that a peer acquires, if the file already names that shape. Releasing early is safe; exporting
// before the release is not.
func (i *instance) reach(to shape) error {
	if _, latest := i.keys.shapes(); latest == to {
		return nil
	}
	t, err := i.look()
	if err != nil {
		return err
	}
	if t.target() != to {
		return errSuperseded
	}
	return i.release(t)
}

// exportQuery reads the slot and the shape of the request.
func exportQuery(r *http.Request) (ordinal uint32, under shape, err error) {
	number := func(name string, bits int) uint64 {
		n, e := strconv.ParseUint(r.FormValue(name), 10, bits)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, e))
		}
		return n
	}
	under = shape{ConfigVersion: number("config_version", 64), Scale: uint32(number("scale", 32))}
	return uint32(number("ordinal", 32)), under, err
}

// collect asks all peers at once for the keys that the target of the topology gives to this slot, and keeps the newest version of each key.
// It fails if one peer does not answer, because that peer may be the only one that has a key.
func (i *instance) collect(ctx context.Context, t topology) (map[string]entry, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu    sync.Mutex
		found = map[string]entry{}
		asked sync.WaitGroup
	)
	keep := func(line exported) error {
		if !validKey(line.Key) || len(line.Value) > maxValue || !owns(i.keys.ordinal, line.Key, t.target().Scale) {
			return fmt.Errorf("a key that was not asked for: %.80q", line.Key)
		}
		mu.Lock()
		defer mu.Unlock()
		if line.Version > found[line.Key].Version {
			found[line.Key] = line.entry
		}
		if len(found) > maxKeys {
			return errFull
		}
		return nil
	}
	for _, p := range t.Peers {
		if p.Ordinal == i.keys.ordinal {
			continue
		}
		asked.Go(func() {
			err := i.patiently(ctx, func() error { return i.fetch(ctx, t, p.Ordinal, keep) })
			if err != nil {
				cancel(fmt.Errorf("the export of slot %d: %w", p.Ordinal, err))
			}
		})
	}
	asked.Wait()
	return found, context.Cause(ctx)
}

// patiently repeats the request for as long as the peer cannot be reached: a network may fail for seconds while its containers start and
// stop. It accepts any answer of the peer, also an error.
func (i *instance) patiently(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, i.patience)
	defer cancel()
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		err := ask()
		if unreached := new(url.Error); !errors.As(err, &unreached) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// fetch gives each line of one peer's export to keep.
func (i *instance) fetch(ctx context.Context, t topology, from uint32, keep func(exported) error) error {
	export := fmt.Sprintf("http://%s/export?config_version=%d&scale=%d&ordinal=%d",
		t.address(from), t.target().ConfigVersion, t.target().Scale, i.keys.ordinal)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, export, nil)
	if err != nil {
		return err
	}
	answer, err := i.peers.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 256))
		return fmt.Errorf("%s: %s", answer.Status, why)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxLine)
	for n := 0; lines.Scan(); n++ {
		var line exported
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return err
		}
		if line.Total != nil {
			if *line.Total != n {
				return fmt.Errorf("it has %d keys of %d", n, *line.Total)
			}
			return nil
		}
		if err := keep(line); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}
