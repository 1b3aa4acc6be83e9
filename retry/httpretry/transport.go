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
	resp, err := t.by.RoundTrip(t.keyed(req))
	if err != nil {
		return nil, failure(req, err)
	}
	if err := t.check(resp); err != nil {
		return nil, err
	}
	return resp, nil
}
