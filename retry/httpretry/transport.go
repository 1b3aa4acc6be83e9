package httpretry

import "net/http"

// Transport returns a transport for libraries that take an *http.Client: an http.Client
// with it returns errors as Client does. A nil by is http.DefaultTransport.
//
// http.Client puts a *url.Error around each error, whose text has the URL with its
// query; errors.As finds what is inside. Use a Client where you can.
func Transport(by http.RoundTripper, options ...Option) http.RoundTripper {
	return &transport{by: once{by}, settings: newSettings(options)}
}

type transport struct {
	by http.RoundTripper
	settings
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.send(req, countBody, t.by.RoundTrip)
}

// countBody is claimBody for a request that must not be changed. That a body cannot be made
// again and was sent is noticed if its length is known.
func countBody(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil || req.ContentLength <= 0 {
		return withBody(req)
	}
	out := *req
	out.Body = &counted{req.Body, req.ContentLength}
	return &out, nil
}
