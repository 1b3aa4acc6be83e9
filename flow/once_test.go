package flow_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/store/memory"
)

// TestW13_EachRequestIsAnAttempt: of a server that breaks every second request, after
// it has read it, each request is on record.
func TestW13_EachRequestIsAnAttempt(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%2 == 0 {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
			}
		}
	}))
	defer server.Close()
	r, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(`fn main(input: [url], output: [broken]):
    broken = 0
    for n in range(3):
        for policy in ["none", "zero"]:
            try:
                if policy == "none":
                    @http.post(url=url, json={"n": n})
                    @http.get(url=url)
                else:
                    @http.post(url=url, body="x") [retry: 0]
                    @http.put(url=url, body="x") [retry: 1]
            except NetworkError:
                broken = broken + 1
`, "\t", "    ")
	f, err := r.Load("once.flow", text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.With(map[string]string{"url": server.URL})
	if err != nil {
		t.Fatal(err)
	}
	eng, err := perdure.Open(t.Context(), memory.New(), perdure.Register(r.Definitions()...))
	if err == nil {
		err = eng.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	if _, err := perdure.Run(t.Context(), eng, flow.Workflow, "run", p); err != nil {
		t.Fatal(err)
	}
	attempts, err := eng.Workflow("run").Attempts(t.Context())
	if err != nil || int64(len(attempts)) != requests.Load() {
		t.Errorf("%d requests, and %d attempts on record: %v", requests.Load(), len(attempts), err)
	}
}
