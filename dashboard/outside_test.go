package dashboard

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// TestF6_ARunLinksToItsLogs: to those of the run, whatever its ID has in it, and to a trace if it
// has one; an address that cannot be that of a run is refused.
func TestF6_ARunLinksToItsLogs(t *testing.T) {
	eng, err := perdure.Open(t.Context(), sqlite.File(made(t)), perdure.Register(checkout, reserve, charge))
	must(t, err)
	defer eng.Close()
	_, err = perdure.Start(t.Context(), eng, checkout, "traced & more", "ok", perdure.TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
	must(t, err)
	rules := access.Rules{Anonymous: access.Identity{Name: "ann", Role: access.Operator}}
	pages, err := Handler(eng, rules, Logs("https://logs.example/?q={workflow_id}&run={run_id}"), Traces("https://traces.example/{trace_id}"))
	must(t, err)
	srv := httptest.NewServer(pages)
	defer srv.Close()
	page := func(id string) string {
		answer, err := http.Get(srv.URL + "/" + string(link("run", "id", id)))
		must(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		return string(text)
	}
	if text := page("traced & more"); !strings.Contains(text, "https://logs.example/?q=traced&#43;%26&#43;more&amp;run=") || !strings.Contains(text, `href="https://traces.example/4bf92f3577b34da6a3ce929d0e0e4736"`) {
		t.Error(text)
	}
	if text := page("slow-1"); !strings.Contains(text, "https://logs.example/?q=slow-1&amp;run=") || strings.Contains(text, "traces.example") {
		t.Error(text)
	}
	for _, address := range []string{"", "logs.example/{run_id}", "javascript:alert({run_id})", "https://logs.example/", "https://logs.example/{run}", "ftp://logs.example/{run_id}"} {
		_, err := Handler(eng, rules, Logs(address))
		if refused := (*view.InputError)(nil); !errors.As(err, &refused) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
