package dashboard

import (
	"io"
	"net/http"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/store/memory"
)

// TestF8_EveryPageIsGuarded: each route of the dashboard, from its table.
func TestF8_EveryPageIsGuarded(t *testing.T) {
	eng, err := perdure.Open(t.Context(), memory.New())
	must(t, err)
	defer eng.Close()
	guard, err := web.New(webtest.Rules())
	must(t, err)
	s := &server{engine: eng, guard: guard}
	webtest.Check(t, s.routes(), func(rules access.Rules) (http.Handler, error) { return Handler(eng, rules) })
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return string(text)
}
