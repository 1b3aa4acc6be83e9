package dashboard

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// indented formats a payload as indented text.
func indented(p view.Payload) string {
	if len(p.JSON) == 0 {
		return p.String()
	}
	return indentedJSON(p.JSON)
}

func indentedJSON(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// wholeText is a plain-text page with the whole of a text that other pages fold, or the whole history
// as a file.
func wholeText(q *request) (any, error) {
	h, id, _, err := q.which()
	if err != nil {
		return nil, err
	}
	v := q.URL.Query()
	n, err := strconv.Atoi(v.Get("number"))
	if err != nil && v.Get("number") != "" {
		return nil, &badRequest{"The number is none.", "Follow a link of the page of the run."}
	}
	none := &badRequest{"There is no such text any more.", "Look at the page of the run again."}
	if v.Get("what") == "event" {
		var at view.Place
		if at.UnmarshalText([]byte(v.Get("place"))) != nil || at.Event < 1 {
			return nil, none
		}
		events, err := h.HistoryRange(q.ctx, view.HistoryRange{After: view.Place{Turn: at.Turn, Event: at.Event - 1}, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(events) == 0 || events[0].Place() != at {
			return nil, none
		}
		return nil, q.plain(indentedJSON(events[0].Record))
	}
	if v.Get("what") == "record" {
		document, err := h.Record(q.ctx)
		if err != nil {
			return nil, err
		}
		return nil, q.attach(id+".json", document)
	}
	d, err := h.Describe(q.ctx)
	if err != nil {
		return nil, err
	}
	what := v.Get("what")
	if what == "stack" {
		return nil, q.plain(wording.Stack(d))
	}
	text := payloadOf(d, what)
	if what == "heartbeat" {
		if i := slices.IndexFunc(d.Pending, func(c view.Call) bool { return c.Call == int64(n) }); i >= 0 {
			text = d.Pending[i].Heartbeat
		}
	}
	if text == nil {
		return nil, none
	}
	return nil, q.plain(indented(*text))
}

// attach responds with a JSON document that browsers save.
func (q *request) attach(name string, document []byte) error {
	q.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	return q.send("application/json", document)
}

// plain responds with a text that browsers cannot mistake for another type.
func (q *request) plain(text string) error {
	return q.send("text/plain; charset=utf-8", visible([]byte(text)))
}

// send responds with what is no page.
func (q *request) send(media string, document []byte) error {
	q.done = true
	q.w.Header().Set("Content-Type", media)
	q.w.WriteHeader(http.StatusOK)
	_, _ = q.w.Write(document) // an error means that the client is gone
	return nil
}
