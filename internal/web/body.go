package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/perdure/perdure/access"
)

// readBody reads the body of an admitted request into memory, within the limits of its
// route.
func (g *Guard) readBody(w http.ResponseWriter, r *http.Request, route Route) *Problem {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		r.Body = http.NoBody
		return nil
	}
	media := cmp.Or(route.Media, "application/json")
	switch {
	case r.ContentLength > route.Body:
		return tooLarge(route.Body)
	case route.Body > 0 && !isMedia(r.Header.Get("Content-Type"), media):
		return WrongMedia.Of(fmt.Sprintf("The Content-Type is %q; this takes %s.", r.Header.Get("Content-Type"), media))
	}
	timeout := cmp.Or(g.rules.BodyTimeout, access.DefaultBodyTimeout)
	body, err := within(w, r, timeout, route.Body)
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
	case large:
		return tooLarge(route.Body)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return BodyTooSlow.Of(fmt.Sprintf("The body did not arrive within %v.", timeout))
	default:
		return BadBody.Of("The body could not be read: it ended early or is not as its headers announce it.")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// within reads a body before a deadline: that of the connection or, under a writer that
// hides its connection, one of its own.
func within(w http.ResponseWriter, r *http.Request, timeout time.Duration, limit int64) ([]byte, error) {
	limited := http.MaxBytesReader(w, r.Body, limit)
	connection := http.NewResponseController(w)
	if err := connection.SetReadDeadline(time.Now().Add(timeout)); err == nil {
		body, err := io.ReadAll(limited)
		if err == nil {
			err = connection.SetReadDeadline(time.Time{})
		}
		return body, err
	}
	type result struct {
		body []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		body, err := io.ReadAll(limited)
		done <- result{body, err}
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case d := <-done:
		return d.body, d.err
	case <-timer.C:
		return nil, os.ErrDeadlineExceeded
	}
}

func tooLarge(limit int64) *Problem {
	if limit == 0 {
		return BodyTooLarge.Of("The request has a body, and this takes none.")
	}
	return BodyTooLarge.Of(fmt.Sprintf("The body has more than %d bytes, which is the limit here.", limit))
}

// linger is how long a refused request may go on sending its body. A server that closes a
// connection while a body arrives may destroy the response on its way.
const linger = 500 * time.Millisecond

// refuseUnread refuses a request whose body is not read to its end. Without the header, the
// server of package net/http waits for the body before it sends the response. Without the
// deadline, it waits for up to 256 KiB of it afterwards.
func (l Look) refuseUnread(w http.ResponseWriter, r *http.Request, p *Problem) {
	if r.Body != nil && r.Body != http.NoBody {
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger)) // not all writers have deadlines
	}
	l.Refuse(w, r, p)
}
