package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

func liveEndpoints() []endpoint {
	return []endpoint{
		follow("GET /api/live/status", "liveStatus", "Follow the overview.", "status --watch", func(ctx context.Context, c *call, _ liveQuery) (any, error) {
			s, err := ops.Status(ctx, c.e)
			return s, err
		}),
		follow("GET /api/live/runs", "liveRuns", "Follow a page of the list of runs.", "list --watch", func(ctx context.Context, c *call, q liveList) (any, error) {
			return selectRuns(ctx, c.e, q.listQuery)
		}),
		follow("GET /api/live/runs/{id}", "liveRun", "Follow a run. The stream ends with the run.", "show --watch", func(ctx context.Context, c *call, q liveRun) (any, error) {
			return c.handle(q.ofRun).Describe(ctx)
		}),
	}
}

type liveQuery struct {
	Every *span `query:"every" doc:"how often to look, 1s to 1m; default 2s"`
}

func (q liveQuery) every() *span { return q.Every }

type liveList struct {
	liveQuery
	listQuery
}

type liveRun struct {
	liveQuery
	ofRun
}

const (
	heartbeatEvery = 15 * time.Second
	writeTimeout   = 10 * time.Second
)

// follow returns an endpoint that sends a view whenever it has changed.
func follow[Q interface{ every() *span }](line, name, summary, does string, look func(ctx context.Context, c *call, q Q) (any, error)) endpoint {
	e := define(line, name, summary+" Each event named view is the whole view; a problem is an event named problem.", does,
		func(c *call, q Q, _ none) (any, error) {
			every := span(2 * time.Second)
			if given := q.every(); given != nil {
				every = *given
			}
			if every < span(time.Second) || every > span(time.Minute) {
				return nil, badRequest("every is %v; it can be 1s to 1m", every)
			}
			s := &stream{call: c, every: time.Duration(every), last: c.Header.Get("Last-Event-ID"), to: http.NewResponseController(c.w)}
			return nil, s.run(func(ctx context.Context) (any, error) { return look(ctx, c, q) })
		}).waits()
	e.stream, e.media = true, "text/event-stream"
	return e
}

// stream is a caller that follows a view.
type stream struct {
	call  *call
	to    *http.ResponseController
	every time.Duration
	last  string // ID of the last event that the caller has
	quiet time.Duration
}

// run reads and sends until the caller is gone or the view is final. A problem before the
// first event is an ordinary response.
func (s *stream) run(look func(context.Context) (any, error)) error {
	ctx := s.call.Context()
	begun := false
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		if over := web.Again(ctx); over != nil {
			if !begun {
				return over
			}
			_ = s.send("problem", over) // the stream ends in either case
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, web.Patience)
		v, err := look(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !begun && problemOf(s.call, err).Status < http.StatusInternalServerError:
			return err // waiting does not help
		}
		if !begun {
			begun = true
			h := s.call.w.Header()
			h.Set("Content-Type", "text/event-stream")
			h.Set("X-Accel-Buffering", "no") // for proxies that would buffer events
			s.call.w.WriteHeader(http.StatusOK)
		}
		stops := errors.Is(err, perdure.ErrStopped)
		if err != nil {
			err = s.send("problem", problemOf(s.call, err))
		} else {
			err = s.send("view", v)
		}
		if err != nil || stops || ended(v) {
			return nil // the caller is gone, or nothing follows; a server that stops waits for its streams
		}
		select {
		case <-ticker.C:
			s.quiet += s.every
		case <-ctx.Done():
			return nil
		}
	}
}

// ended reports whether a view will not change any more.
func ended(v any) bool {
	d, isRun := v.(*view.Description)
	return isRun && d != nil && d.Closed != nil
}

// send writes an event unless the caller has it, and a heartbeat now and then.
func (s *stream) send(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	id := identify(name, v, text)
	var line string
	switch {
	case id != s.last:
		line = fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", id, name, text) // JSON has no line breaks
	case s.quiet >= heartbeatEvery || s.quiet == 0:
		line = ": unchanged\n\n"
	default:
		return nil
	}
	s.last, s.quiet = id, 0
	if err := s.to.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err = s.call.w.Write([]byte(line))
	if err == nil {
		err = s.to.Flush()
	}
	// Nothing is due until the next event. HTTP/2 would reset a quiet stream.
	_ = s.to.SetWriteDeadline(time.Time{}) // not all writers have deadlines
	return err
}

// identify returns the ID of an event, derived from its content. The time at which a view
// was taken does not count as a change.
func identify(name string, v any, text []byte) string {
	if status, ok := v.(*view.Status); ok {
		still := *status
		still.Time = time.Time{}
		text, _ = json.Marshal(&still) // it could be marshaled a moment ago
	}
	sum := sha256.Sum256(append([]byte(name+" "), text...))
	return hex.EncodeToString(sum[:8])
}
