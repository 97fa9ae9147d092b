package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"
)

// Limits of what a client may send, in bytes.
const (
	maxKey   = 256
	maxValue = 64 << 10
)

// whereabouts names the owner of a key, as far as the answering instance knows.
type whereabouts struct {
	Ordinal uint32 `json:"ordinal"`
	// Address is host:port, or "" where the topology file has no instance of that slot.
	Address string `json:"address,omitempty"`
	shape
}

// handler returns all that an instance answers to.
func (i *instance) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /hooks/release", i.hookRelease)
	mux.HandleFunc("POST /hooks/acquire", i.hookAcquire)
	mux.HandleFunc("GET /export", i.export)
	mux.HandleFunc("GET /owner/{key}", i.owner)
	mux.HandleFunc("GET /keys/{key}", i.get)
	mux.HandleFunc("PUT /keys/{key}", i.put)
	mux.HandleFunc("DELETE /keys/{key}", i.remove)
	return mux
}

// hookRelease answers once this slot serves nothing that the change takes from it.
func (i *instance) hookRelease(w http.ResponseWriter, _ *http.Request) {
	t, err := i.look()
	if err == nil {
		if t.Change == nil {
			http.Error(w, "the topology file has no change", http.StatusConflict)
			return
		}
		err = i.release(t)
	}
	i.concludeHook(w, err)
}

// hookAcquire answers once this slot serves all that the change gives to it.
func (i *instance) hookAcquire(w http.ResponseWriter, r *http.Request) {
	t, err := i.look()
	if err == nil {
		if t.Change == nil || t.Change.Phase != phaseAcquire {
			http.Error(w, "the topology file has no change whose keys may be acquired", http.StatusConflict)
			return
		}
		err = i.acquire(r.Context(), t)
	}
	i.concludeHook(w, err)
}

func (i *instance) concludeHook(w http.ResponseWriter, err error) {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	i.log.Warn("a hook", "error", err)
	status := http.StatusServiceUnavailable
	if errors.Is(err, errSuperseded) {
		status = http.StatusConflict
	}
	http.Error(w, err.Error(), status)
}

func (i *instance) get(w http.ResponseWriter, r *http.Request) {
	if key, ok := keyOf(w, r); ok {
		e, version, err := i.keys.get(key)
		i.answer(w, e, version, err)
	}
}

func (i *instance) put(w http.ResponseWriter, r *http.Request) {
	key, ok := keyOf(w, r)
	if !ok {
		return
	}
	// Read the value before asking the store: a client that sends slowly must not block others.
	value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxValue))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, "a value has 64 KiB at most", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e, version, err := i.keys.put(key, value)
	i.answer(w, e, version, err)
}

func (i *instance) remove(w http.ResponseWriter, r *http.Request) {
	if key, ok := keyOf(w, r); ok {
		e, version, err := i.keys.remove(key)
		i.answer(w, e, version, err)
	}
}

// owner answers which slot owns a key, be it this one or another.
func (i *instance) owner(w http.ResponseWriter, r *http.Request) {
	key, ok := keyOf(w, r)
	if !ok {
		return
	}
	_, latest := i.keys.shapes()
	if latest.Scale == 0 {
		i.answer(w, entry{}, 0, errNobody)
		return
	}
	i.locate(w, http.StatusOK, elsewhereError{owner: owner(key, latest.Scale), shape: latest})
}

// answer sends the value of an entry, or the error. A 404 also names this slot, because only the owner of a key may say that the key does
// not exist.
func (i *instance) answer(w http.ResponseWriter, e entry, version uint64, err error) {
	if err == nil || errors.Is(err, errNoKey) {
		w.Header().Set("X-Config-Version", strconv.FormatUint(version, 10))
		w.Header().Set("X-Ordinal", strconv.FormatUint(uint64(i.keys.ordinal), 10))
	}
	var elsewhere elsewhereError
	switch {
	case err == nil:
		w.Header().Set("X-Version", strconv.FormatUint(e.Version, 10))
		w.Header().Set("Content-Type", "application/octet-stream")
		if _, err := w.Write(e.Value); err != nil {
			i.log.Debug("answering", "error", err)
		}
	case errors.As(err, &elsewhere):
		i.locate(w, http.StatusMisdirectedRequest, elsewhere)
	case errors.Is(err, errNoKey):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, errFull):
		http.Error(w, err.Error(), http.StatusInsufficientStorage)
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (i *instance) locate(w http.ResponseWriter, status int, e elsewhereError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := whereabouts{Ordinal: e.owner, Address: i.known.Load().address(e.owner), shape: e.shape}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		i.log.Debug("answering", "error", err)
	}
}

// validKey reports whether this can be a key. It is UTF-8, for exports are JSON.
func validKey(key string) bool {
	return key != "" && len(key) <= maxKey && utf8.ValidString(key)
}

// keyOf returns the key in the request's path, or answers that there is none.
func keyOf(w http.ResponseWriter, r *http.Request) (string, bool) {
	key := r.PathValue("key")
	if !validKey(key) {
		http.Error(w, "a key has 1 to 256 bytes of UTF-8", http.StatusBadRequest)
		return "", false
	}
	return key, true
}
