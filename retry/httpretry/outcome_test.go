package httpretry_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
)

// serving is a server that does with each connection what it is told.
func serving(t *testing.T, do func(conn net.Conn, in *bufio.Reader)) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				do(conn, bufio.NewReader(conn))
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// readRequest reads a request with its body.
func readRequest(in *bufio.Reader) {
	if req, err := http.ReadRequest(in); err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

func say(conn net.Conn, text string) { _, _ = io.WriteString(conn, text) }

// TestU1_WhetherARequestMayHaveBeenDone is said by how far it came.
func TestU1_WhetherARequestMayHaveBeenDone(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 8<<20)
	kept := 0
	servers := map[string]func(net.Conn, *bufio.Reader){
		"half":   func(_ net.Conn, in *bufio.Reader) { _, _ = io.CopyN(io.Discard, in, 100) },
		"all":    func(_ net.Conn, in *bufio.Reader) { readRequest(in) },
		"resets": func(conn net.Conn, in *bufio.Reader) { readRequest(in); _ = conn.(*net.TCPConn).SetLinger(0) },
		"continues": func(conn net.Conn, in *bufio.Reader) {
			_, _ = in.ReadString('\n')
			say(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		},
		"silent": func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) },
		"gateway": func(conn net.Conn, in *bufio.Reader) {
			readRequest(in)
			say(conn, "HTTP/1.1 504 Late\r\nContent-Length: 0\r\n\r\n")
		},
		"busy": func(conn net.Conn, in *bufio.Reader) {
			readRequest(in)
			say(conn, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
		},
		"cut": func(conn net.Conn, in *bufio.Reader) {
			readRequest(in)
			say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		},
		"kept": func(conn net.Conn, in *bufio.Reader) { // answers once, and closes at the second request
			readRequest(in)
			say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			readRequest(in)
			kept++
		},
	}
	at := map[string]string{"refused": "http://" + gone.Addr().String(), "no host": "http://no-such-host.invalid"}
	for name, do := range servers {
		at[name] = serving(t, do)
	}
	gone.Close() // now, so that none of the servers got its port
	const unknown, notDone, unsaid = "unknown", "not done", ""
	for _, c := range []struct {
		method, server, body, want string
		before                     bool // a request before on the same connection
	}{
		{method: "POST", server: "refused", want: notDone},
		{method: "POST", server: "no host", want: notDone},
		{method: "POST", server: "half", body: large, want: unknown},
		{method: "POST", server: "all", want: unknown},
		{method: "DELETE", server: "all", want: unknown},
		{method: "POST", server: "resets", want: unknown},
		{method: "POST", server: "continues", body: large, want: unknown},
		{method: "POST", server: "silent", want: unknown},
		{method: "POST", server: "gateway", want: unknown},
		{method: "POST", server: "busy", want: unsaid},
		{method: "POST", server: "cut", want: unknown},
		{method: "POST", server: "kept", before: true, want: unknown},
		{method: "GET", server: "all", want: unsaid},
		{method: "GET", server: "refused", want: unsaid},
		{method: "GET", server: "cut", want: unsaid},
	} {
		t.Run(c.method+" "+c.server, func(t *testing.T) {
			by := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Second}, Timeout: 2 * time.Second}
			client := httpretry.New(by)
			send := func() error {
				req, err := http.NewRequestWithContext(t.Context(), c.method, at[c.server], strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				if c.server == "continues" {
					req.Header.Set("Expect", "100-continue")
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				_, err = io.ReadAll(resp.Body)
				return err
			}
			if c.before {
				if err := send(); err != nil {
					t.Fatal(err)
				}
			}
			err := send()
			said := unsaid
			switch f := retry.Classify(err); {
			case f.Unknown:
				said = unknown
			case f.NotDone:
				said = notDone
			}
			if err == nil || said != c.want {
				t.Errorf("%v says %q", err, said)
			}
			if strings.Contains(retry.TypeName(err), "Outcome") {
				t.Errorf("its type is %s", retry.TypeName(err))
			}
		})
	}
}

// TestU1_OverHTTP2 it is the same: what a server refused unprocessed was not done.
func TestU1_OverHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	post := func(client *http.Client, url string) error {
		req, err := http.NewRequestWithContext(t.Context(), "POST", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := httpretry.New(client).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := post(server.Client(), server.URL); !retry.IsUnknown(err) {
		t.Errorf("a stream that was cut: %v", err)
	}
	url, client, _ := serveRefusing(t, frameReset)
	if err := post(client, url); !retry.Classify(err).NotDone {
		t.Errorf("a refused stream: %v", err)
	}
	if errors.Is(post(client, url), io.EOF) {
		t.Error("the cause is an end of file")
	}
}
