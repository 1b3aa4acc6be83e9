package webtest

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
)

// slow sends every route that takes a body a body that stalls, in virtual time and over
// connections with deadlines.
func slow(t *testing.T, routes []web.Route, serve func(access.Rules) (http.Handler, error)) {
	synctest.Test(t, func(t *testing.T) {
		server := NewServer(must(t, serve, Rules()))
		defer server.Close()
		for _, route := range routes {
			if route.Body == 0 {
				continue
			}
			for _, length := range []string{"Content-Length: 100", "Transfer-Encoding: chunked"} {
				connection := server.Dial()
				fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\n%s\r\n\r\n1",
					route.Method, Path(route.Pattern), Host, OperatorSecret, media(route), length)
				answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
				if err != nil {
					t.Errorf("%s, %s: %v", route.Name, length, err)
				} else if answer.StatusCode != http.StatusRequestTimeout {
					t.Errorf("%s, %s: status %d for a body that does not come", route.Name, length, answer.StatusCode)
				}
				_ = connection.Close()
			}
		}
	})
}

// Server is an HTTP server over in-memory connections that works in virtual time.
type Server struct {
	http.Server
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
	serving  sync.WaitGroup
}

// NewServer serves a handler until it is closed.
func NewServer(handler http.Handler) *Server {
	s := &Server{accepted: make(chan net.Conn), closed: make(chan struct{})}
	s.Handler = handler
	s.serving.Go(func() { _ = s.Serve(listener{s}) })
	return s
}

// Dial returns a connection to the server.
func (s *Server) Dial() net.Conn {
	client, server := net.Pipe()
	select {
	case s.accepted <- server:
	case <-s.closed:
		_ = server.Close()
	}
	return client
}

// Close closes the server and its connections.
func (s *Server) Close() {
	_ = s.Server.Close()
	s.serving.Wait()
}

type listener struct{ s *Server }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.s.accepted:
		return c, nil
	case <-l.s.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	l.s.once.Do(func() { close(l.s.closed) })
	return nil
}

func (l listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
