package httpretry_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/retry/httpretry"
)

// breaking answers the first request of each connection and breaks the connection
// after it has read the second.
type breaking struct {
	url  string
	mu   sync.Mutex
	seen []string // the methods and keys of all requests
}

func serveBreaking(t *testing.T) *breaking {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	b := &breaking{url: "http://" + listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.serve(conn)
		}
	}()
	return b
}

func (b *breaking) serve(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for n := 1; n <= 2; n++ {
		req, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(req.Body)
		b.mu.Lock()
		b.seen = append(b.seen, strings.TrimSpace(req.Method+" "+req.Header.Get("Idempotency-Key")+" "+string(body)+" "+strings.Join(req.TransferEncoding, ",")))
		b.mu.Unlock()
		if n == 1 {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
}

// TestW13_NoRequestIsSentTwice by the transport when a kept connection breaks.
func TestW13_NoRequestIsSentTwice(t *testing.T) {
	for _, c := range []struct{ method, key, body string }{
		{"GET", "", ""}, {"HEAD", "", ""}, {"OPTIONS", "", ""}, {"POST", "k", ""}, {"POST", "k", "text"}, {"PUT", "k", "text"}, {"DELETE", "k", ""},
	} {
		for _, by := range []string{"Client", "Transport"} {
			b := serveBreaking(t)
			own := &http.Transport{}
			defer own.CloseIdleConnections()
			do := httpretry.New(&http.Client{Transport: own}).Do
			if by == "Transport" {
				do = (&http.Client{Transport: httpretry.Transport(own)}).Do
			}
			send := func() error {
				var body io.Reader
				if c.body != "" {
					body = strings.NewReader(c.body)
				}
				req, err := http.NewRequest(c.method, b.url, body)
				if err != nil {
					t.Fatal(err)
				}
				if c.key != "" {
					req.Header.Set("Idempotency-Key", c.key)
				}
				resp, err := do(req)
				if err != nil {
					return err
				}
				return resp.Body.Close()
			}
			if err := send(); err != nil {
				t.Fatal(err)
			}
			var network *httpretry.NetworkError
			if err := send(); !errors.As(err, &network) {
				t.Errorf("%s by a %s: %v", c.method, by, err)
			}
			want := strings.TrimSpace(c.method + " " + c.key + " " + c.body)
			b.mu.Lock()
			if !slices.Equal(b.seen, []string{want, want}) {
				t.Errorf("%s by a %s: the server has seen %q", c.method, by, b.seen)
			}
			b.mu.Unlock()
		}
	}
}
