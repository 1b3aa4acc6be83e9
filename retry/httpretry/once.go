package httpretry

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// once sends each request at most once. An *http.Transport sends a request again by
// itself when a kept connection breaks before the response, if it takes the request
// for idempotent: by its method, or by a header Idempotency-Key. Such a request is an
// attempt that no policy decided and no ledger shows.
//
// What net/http treats as safe to repeat has no body or one that can be rewound, and
// it looks for the header by its canonical name. So the request loses the means to
// rewind its body, a request without a body gets an empty one where the method alone
// makes it idempotent, and the header has a name in small letters, which is the same
// header on the wire.
type once struct{ by http.RoundTripper }

func (o once) RoundTrip(req *http.Request) (*http.Response, error) {
	by, out := cmp.Or(o.by, http.DefaultTransport), unrepeatable(req)
	if out.Body == nil || out.Body == http.NoBody {
		return refusedOnce(by, out)
	}
	return by.RoundTrip(out)
}

// errRefused says that a server of HTTP/2 refused a request and did not process it.
var errRefused = errors.New("the server refused the request before it processed it")

// refusedOnce sends a request without a body, which net/http sends again over HTTP/2 as
// often as the server refuses it. The request is canceled when it gets a connection for
// the second time: before anything is written.
func refusedOnce(by http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	var written, again atomic.Bool
	trace := &httptrace.ClientTrace{
		WroteHeaders: func() { written.Store(true) },
		GotConn: func(info httptrace.GotConnInfo) {
			conn, encrypted := info.Conn.(*tls.Conn)
			if written.Swap(false) && encrypted && conn.ConnectionState().NegotiatedProtocol == "h2" {
				again.Store(true)
				cancel()
			}
		},
	}
	resp, err := by.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		cancel()
		if again.Load() && req.Context().Err() == nil {
			err = errRefused
		}
		return nil, err
	}
	if _, writes := resp.Body.(io.Writer); !writes {
		resp.Body = &canceling{resp.Body, cancel}
	} else {
		context.AfterFunc(req.Context(), cancel) // the connection belongs to the caller
	}
	return resp, nil
}

// canceling is the body of a response that ends the context of its request.
type canceling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *canceling) Close() error {
	err := c.ReadCloser.Close()
	c.cancel()
	return err
}

// unrepeatable returns a copy of the request that net/http does not send twice.
func unrepeatable(req *http.Request) *http.Request {
	out := *req
	out.GetBody = nil
	switch out.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		if out.Body == nil || out.Body == http.NoBody {
			out.Body = io.NopCloser(strings.NewReader(""))
		}
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := out.Header[name]; ok {
			out.Header = out.Header.Clone()
			delete(out.Header, name)
			out.Header[strings.ToLower(name)] = values
		}
	}
	return &out
}
