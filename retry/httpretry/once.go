package httpretry

import (
	"io"
	"net/http"
	"strings"
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
	by := o.by
	if by == nil {
		by = http.DefaultTransport
	}
	return by.RoundTrip(unrepeatable(req))
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
