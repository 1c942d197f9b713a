package review

import (
	"net/http"
	"net/url"

	"github.com/doubletake-dev/doubletake/replay"
)

// textBytes is how much of a text comes with one request.
const textBytes = 20_000

// getText continues a text that was cut.
func (s *desk) getText(r *http.Request) (any, error) {
	defer s.enter()()
	query := r.URL.Query()
	i, err := s.find(query.Get("pair"))
	if err != nil {
		return nil, err
	}
	e := &s.options.Review.Queue[i]
	n, err := number(query, "n")
	if err != nil {
		return nil, err
	}
	of := side(query.Get("side"))
	var text string
	switch query.Get("of") {
	case "step":
		if of != left && of != right {
			return nil, fault(http.StatusBadRequest, "side=%q: want left or right", of)
		}
		steps := s.steps(e, s.armOn(e, of))
		if n >= len(steps) {
			return nil, fault(http.StatusNotFound, "no step %d", n)
		}
		text, err = stepText(&steps[n], query.Get("part"), query.Get("key"))
	case "context":
		if !s.seen(e.ID) {
			return nil, fault(http.StatusForbidden, "the contexts show which side was compacted: decide first, or end the blindness of this pair")
		}
		if of != left && of != right && of != recorded {
			return nil, fault(http.StatusBadRequest, "side=%q: want recorded, left or right", of)
		}
		messages, _, failed := s.messages(e, of)
		if failed != nil {
			return nil, failed
		}
		if n >= len(messages) {
			return nil, fault(http.StatusNotFound, "no message %d", n)
		}
		text = messageText(&messages[n])
	default:
		return nil, fault(http.StatusBadRequest, "of=%q: want step or context", query.Get("of"))
	}
	if err != nil {
		return nil, err
	}
	return continued(text, query)
}

// continued is the stretch of a text that a query asks for: so many bytes from a place
// on, as far as one answer goes, and the gap that is left.
func continued(text string, query url.Values) (any, error) {
	at, err := number(query, "at")
	if err != nil {
		return nil, err
	}
	bytes, err := number(query, "bytes")
	if err != nil {
		return nil, err
	}
	if at > len(text) {
		return nil, fault(http.StatusBadRequest, "the text has %d bytes", len(text))
	}
	end := at + min(bytes, len(text)-at)
	shown, next := stretch(text[:end], at, textBytes)
	out := []piece{{Text: shown}}
	if next < end {
		query.Del("at")
		query.Del("bytes")
		out = append(out, piece{Gap: &gap{query.Encode(), next, end - next}})
	}
	return map[string]any{"pieces": out}, nil
}

func stepText(s *replay.Step, part, key string) (string, error) {
	switch part {
	case "text":
		return s.Text, nil
	case "result":
		return s.Result, nil
	case "arg":
		if s.Call != nil {
			if text, ok := argumentTexts(s.Call)[key]; ok {
				return text, nil
			}
		}
	}
	return "", fault(http.StatusNotFound, "no such part of the step")
}

// getRows opens a fold of the transcript or of the contexts.
func (s *desk) getRows(r *http.Request) (any, error) {
	defer s.enter()()
	query := r.URL.Query()
	from, err := number(query, "from")
	if err != nil {
		return nil, err
	}
	count, err := number(query, "count")
	if err != nil {
		return nil, err
	}
	var segments []segment[rowView]
	if query.Get("a") != "" {
		c, err := s.comparison(query)
		if err != nil {
			return nil, err
		}
		segments = opened(from, count, len(c.rows), c.kind, c.row)
	} else {
		i, err := s.find(query.Get("pair"))
		if err != nil {
			return nil, err
		}
		t := s.transcript(&s.options.Review.Queue[i])
		segments = opened(from, count, len(t.rows), t.kind, t.row)
	}
	return map[string]any{"segments": segments}, nil
}
