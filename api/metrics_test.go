package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry"
)

// TestF8_MetricsAreForViewers: the metrics of the group are served to who may look, and to nobody else.
func TestF8_MetricsAreForViewers(t *testing.T) {
	e, err := perdure.Open(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const secret = "a secret of twenty bytes and more"
	h, err := api.Handler(e, access.Rules{Tokens: []access.Token{{Name: "prometheus", Role: access.Viewer, Secret: secret}}, Hosts: []string{"127.0.0.1"}}, api.Metrics(telemetry.New().Handler(e)))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	for token, want := range map[string]int{"": http.StatusUnauthorized, "another secret of twenty bytes": http.StatusUnauthorized, secret: http.StatusOK} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/metrics", nil)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || strings.Contains(string(page), "perdure_served 0") != (want == http.StatusOK) {
			t.Errorf("with the token %q: %s\n%s", token, resp.Status, page)
		}
	}
}
