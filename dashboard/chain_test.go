package dashboard

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// TestF43_AChainIsOneRowOfTheList: runs that continued as new are parts of the workflow whose last
// run is listed; they are listed where they are asked for.
func TestF43_AChainIsOneRowOfTheList(t *testing.T) {
	again := workflow.Declare[int, int]("again")
	again = workflow.New("again", func(wf *workflow.Context, n int) (int, error) {
		if n == 0 {
			return 0, nil
		}
		return workflow.ContinueAsNew(wf, again, n-1)
	})
	eng, err := perdure.Open(t.Context(), memory.New(), perdure.Register(again))
	must(t, err)
	defer eng.Close()
	must(t, eng.Start(t.Context()))
	_, err = perdure.Run(t.Context(), eng, again, "long", 3)
	must(t, err)
	h, err := Handler(eng, webtest.Rules())
	must(t, err)
	page := func(address string) string {
		r, w := httptest.NewRequest("GET", address, nil), httptest.NewRecorder()
		r.Host = webtest.Host
		r.Header.Set("Authorization", "Bearer "+webtest.ViewerSecret)
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	for address, want := range map[string]int{
		"/runs": 1, "/runs?q=lo": 1, "/runs?workflow=again": 1, "/runs?status=completed": 1, "/runs?status=continued": 3, "/runs?status=": 1, "/runs?since=1h": 1,
	} {
		if got := strings.Count(page(address), "<tr data-key="); got != want {
			t.Errorf("%s has %d rows, want %d", address, got, want)
		}
	}
	// The filters say how many there are, unless something else selects, too.
	for address, want := range map[string]bool{"/runs": true, "/runs?status=failed": true, "/runs?workflow=again": false, "/runs?call=backoff": false} {
		if got := strings.Contains(page(address), ">continued (3)<"); got != want {
			t.Errorf("%s counts what has a status: %t", address, got)
		}
	}
}
