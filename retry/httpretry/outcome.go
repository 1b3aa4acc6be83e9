package httpretry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/perdure/perdure/retry"
)

// sending follows how far a request has come. Once a header was written, the server may have
// the request, or as much of it as it needs. It is nil for a request that changes nothing at
// the server, whose outcome does not matter.
type sending struct{ begun atomic.Bool }

// follow returns the request with a trace that notes when it is written.
func follow(req *http.Request) (*http.Request, *sending) {
	switch method(req) {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return req, nil
	}
	s := &sending{}
	begun := func() { s.begun.Store(true) }
	trace := &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { begun() }, WroteHeaders: begun, WroteRequest: func(httptrace.WroteRequestInfo) { begun() },
	}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), s
}

// failed marks the error of a request without a response.
func (s *sending) failed(err, marked error) error {
	switch {
	case s == nil || errors.Is(err, errSent):
		return marked
	case errors.Is(err, errRefused) || !s.begun.Load():
		return retry.NotDone(marked)
	}
	return retry.Unknown(marked)
}

// answered marks the error of a response. A gateway that got no answer, or too late, does not
// know what the server behind it did.
func (s *sending) answered(err error) error {
	status, is := errors.AsType[*StatusError](err)
	if s == nil || !is || status.Status != http.StatusBadGateway && status.Status != http.StatusGatewayTimeout {
		return err
	}
	return retry.Unknown(err)
}

// receive marks the errors of reading the body of a good response: the server has done what it
// was asked for, and what it says of it is lost.
func (s *sending) receive(resp *http.Response) {
	if _, writes := resp.Body.(io.Writer); s == nil || writes || resp.Body == nil {
		return
	}
	resp.Body = &receiving{resp.Body}
}

type receiving struct{ io.ReadCloser }

func (r *receiving) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		err = retry.Unknown(err)
	}
	return n, err
}
