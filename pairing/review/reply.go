package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/doubletake-dev/doubletake/pairing"
)

// faultError is an error with the status that it is answered with.
type faultError struct {
	status int
	err    error
	pair   *pairAnswer // as it is now, where the page has an older one
}

func (e *faultError) Error() string { return e.err.Error() }
func (e *faultError) Unwrap() error { return e.err }

func fault(status int, format string, args ...any) error {
	return &faultError{status: status, err: fmt.Errorf(format, args...)}
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": visible(err.Error())}) // a browser that went away is no fault
}

// reply answers with what a function found, or with why it did not.
func reply(w http.ResponseWriter, r *http.Request, answer func(*http.Request) (any, error)) {
	found, err := answer(r)
	var f *faultError
	switch {
	case errors.As(err, &f) && f.pair != nil:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(f.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": visible(f.Error()), "pair": f.pair}) // a browser that went away is no fault
		return
	case errors.As(err, &f):
		refuse(w, f.status, err)
		return
	case errors.Is(err, pairing.ErrNoPair):
		refuse(w, http.StatusNotFound, err)
		return
	case err != nil:
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(found) // a browser that went away is no fault
}

// largestBody is how many bytes a request may bring: a note and what goes with it.
const largestBody = 64 << 10

// receive reads the JSON that a request brings.
func receive(r *http.Request, into any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return fault(http.StatusUnsupportedMediaType, "want application/json, have %q", r.Header.Get("Content-Type"))
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, largestBody+1))
	if err != nil {
		return fault(http.StatusBadRequest, "reading the request: %w", err)
	}
	if len(data) > largestBody {
		return fault(http.StatusRequestEntityTooLarge, "the request has more than %d bytes", largestBody)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fault(http.StatusBadRequest, "reading the request: %w", err)
	}
	return nil
}
