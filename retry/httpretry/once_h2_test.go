package httpretry_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/retry/httpretry"
)

// frames of HTTP/2.
const (
	frameHeaders, frameReset, frameSettings, frameGoAway = 1, 3, 4, 7
	refusedStream                                        = 7 // "not processed": a client may send the request again
)

// serveRefusing speaks as much of HTTP/2 as it takes to refuse every request, by the
// frame given, and counts them.
func serveRefusing(t *testing.T, by byte) (url string, client *http.Client, requests *atomic.Int64) {
	t.Helper()
	helper := httptest.NewUnstartedServer(nil) // for its certificate
	helper.EnableHTTP2 = true
	helper.StartTLS()
	t.Cleanup(helper.Close)
	config := helper.TLS.Clone()
	config.NextProtos = []string{"h2"}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	requests = &atomic.Int64{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go refuse(conn, by, requests)
		}
	}()
	return "https://" + listener.Addr().String(), helper.Client(), requests
}

func refuse(conn net.Conn, by byte, requests *atomic.Int64) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := io.CopyN(io.Discard, in, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	write := func(kind byte, stream uint32, payload ...uint32) {
		frame := []byte{0, 0, byte(4 * len(payload)), kind, 0}
		frame = binary.BigEndian.AppendUint32(frame, stream)
		for _, p := range payload {
			frame = binary.BigEndian.AppendUint32(frame, p)
		}
		_, _ = conn.Write(frame)
	}
	write(frameSettings, 0)
	for {
		var head [9]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, in, length); err != nil {
			return
		}
		if head[3] != frameHeaders {
			continue
		}
		requests.Add(1)
		if by == frameGoAway {
			write(frameGoAway, 0, 0, refusedStream) // no stream was processed
			return
		}
		write(frameReset, binary.BigEndian.Uint32(head[5:])&0x7fffffff, refusedStream)
	}
}

// TestW13_NoRequestIsSentTwiceByHTTP2: a request that the server refuses, and says that
// it did not process, is one request all the same.
func TestW13_NoRequestIsSentTwiceByHTTP2(t *testing.T) {
	for name, by := range map[string]byte{"reset": frameReset, "goaway": frameGoAway} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
			for _, text := range []string{"", "body"} {
				if text != "" && (method == "GET" || method == "HEAD") {
					continue
				}
				url, client, requests := serveRefusing(t, by)
				var body io.Reader
				if text != "" {
					body = strings.NewReader(text)
				}
				req, err := http.NewRequestWithContext(t.Context(), method, url, body)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				req = req.WithContext(ctx)
				if resp, err := httpretry.New(client).Do(req); err == nil {
					resp.Body.Close()
					t.Errorf("%s, %s %q was answered", name, method, text)
				}
				cancel()
				if n := requests.Load(); n != 1 {
					t.Errorf("%s, %s %q: %d requests, want 1: %v", name, method, text, n, err)
				}
			}
		}
	}
}
