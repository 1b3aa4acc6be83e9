package httpretry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/perdure/perdure/retry"
)

// This file prepares requests. An attempt that cannot be sent, now or ever, is a terminal
// error: the retries would hide the failure that caused them.

// errSent says why a request cannot be sent again.
var errSent = retry.Terminal(errors.New("httpretry: an earlier attempt has read the body of the request; " +
	"make the request in each attempt, or set its GetBody, as http.NewRequest does for bytes and strings"))

// withBody returns a copy of the request with a body of its own, if it can be made again.
func withBody(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody || req.GetBody == nil {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, retry.Terminal(fmt.Errorf("httpretry: the body of the request cannot be made again: %w", err))
	}
	_ = req.Body.Close() // it is not sent
	out := *req
	out.Body = body
	return &out, nil
}

// sent is the body of a request whose body cannot be made again and was sent.
type sent struct{}

func (sent) Read([]byte) (int, error) { return 0, errSent }
func (sent) Close() error             { return nil }

// claimBody returns a copy of the request that may be sent, once if its body cannot be made
// again.
func claimBody(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil {
		return withBody(req)
	}
	if req.Body == (sent{}) {
		return nil, errSent
	}
	out := *req
	req.Body = sent{}
	return &out, nil
}

// counted is a body whose length is known. It notices if it was read before.
type counted struct {
	io.ReadCloser
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.left -= int64(n); err != nil && c.left > 0 {
		return n, fmt.Errorf("%w (%w)", errSent, err)
	}
	return n, err
}

// checkHeader returns a terminal error if a header cannot be sent. The error does not say
// the value, which may be a secret.
func checkHeader(header http.Header) error {
	for name, values := range header {
		if name == "" || strings.ContainsFunc(name, notToken) {
			return retry.Terminal(fmt.Errorf("httpretry: %q cannot be the name of a header", name))
		}
		for _, value := range values {
			if strings.ContainsFunc(value, unsendable) {
				return retry.Terminal(fmt.Errorf("httpretry: the value of the header %s cannot be sent: it has a line break or another control character", name))
			}
		}
	}
	return nil
}

// notToken reports whether the name of a header must not have the character.
func notToken(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// unsendable reports whether the value of a header must not have the character.
func unsendable(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
