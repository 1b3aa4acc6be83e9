package durable

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/dashboard"
)

// Page is a page of the dashboard, without a network.
func (s *session) Page(ctx context.Context, path string) (int, error) {
	h, err := dashboard.Handler(s.Engine, access.Rules{Anonymous: access.Identity{Name: "bench", Role: access.Operator}})
	if err != nil {
		return 0, err
	}
	answer, asked := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/"+path, nil)
	asked.RemoteAddr = "127.0.0.1:1" // only people at this machine need no name
	h.ServeHTTP(answer, asked)
	if answer.Code != http.StatusOK {
		return 0, fmt.Errorf("the status is %d", answer.Code)
	}
	return answer.Body.Len(), nil
}
