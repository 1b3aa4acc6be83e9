package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/view"
)

func TestF6_EveryPageInABrowser(t *testing.T) {
	b := browse(t)
	srv, eng := served(t, made(t))
	for _, p := range []struct{ name, path string }{
		{"overview", ""},
		{"workflows", "workflows"},
		{"runs", "runs"},
		{"runs-retrying", "runs?call=retrying"},
		{"run-retrying", "run?id=bad-1"},
		{"run-recovered", "run?id=slow-1"},
		{"run-failed", "run?id=final-1"},
		{"run-panic", "run?id=panic-1"},
		{"run-held", "run?id=held-1"},
		{"run-parent", "run?id=deliver-1"},
		{"run-hostile", string(link("run", "id", hostileID))},
		{"history", "history?id=slow-1"},
		{"history-full", "history?id=slow-1&form=full"},
		{"attempts", "attempts?id=slow-1"},
		{"tree", "tree?id=deliver-1"},
		{"operate-retry-now", "operate?op=retry-now&id=bad-1&number=2"},
		{"operate-skip", "operate?op=skip&id=bad-1&number=2"},
		{"operate-edit", "operate?op=edit-policy&id=bad-1&number=2&policy=%5Bretry:%203%5D"},
		{"operate-bulk", "operate?op=retry-now&all=yes&call=retrying"},
		{"operate-reset", "operate?op=reset&id=final-1"},
	} {
		t.Run(p.name, func(t *testing.T) {
			b.T = t
			b.goldens(p.name, srv.URL+"/shop/"+p.path, b.tree)
			if text := b.text("main"); strings.Contains(text, "cannot be shown") {
				t.Fatal(text)
			}
		})
	}
	b.T = t
	b.expect = "404"
	b.goldens("error", srv.URL+"/shop/run?id=nobody", b.tree)
	b.expect = ""
	mux := http.NewServeMux()
	pages, err := Handler(eng, access.Rules{Tokens: []access.Token{{Name: "ann", Role: access.Operator, Secret: strings.Repeat("s", 32)}}})
	must(t, err)
	mux.Handle("/shop/", http.StripPrefix("/shop", pages))
	guarded := httptest.NewServer(mux)
	t.Cleanup(guarded.Close)
	b.goldens("login", guarded.URL+"/shop/", b.tree) // which leads there
}

// TestAWorkerIsShownWithItsQueues: it has no partitions, and is no node with 0 of them.
func TestAWorkerIsShownWithItsQueues(t *testing.T) {
	for want, n := range map[string]view.Node{
		"queue gpu":               {Worker: true, Queues: []view.ServedQueue{{Queue: "gpu", Limit: 4}}},
		"queue gpu, queue mail":   {Worker: true, Queues: []view.ServedQueue{{Queue: "gpu"}, {Queue: "mail"}}},
		"3 partitions, queue gpu": {Partitions: 3, Queues: []view.ServedQueue{{Queue: "gpu"}}},
		"1 partition":             {Partitions: 1},
	} {
		if got := servesOf(&n); got != want {
			t.Errorf("%+v serves %q, not %q", n, got, want)
		}
	}
}
