package api_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/goldenfile"
)

// TestF31_TheDocumentIsMadeFromTheTable holds what can be asked to a golden file, so that a
// change of an address is seen, and what is served to what is made.
func TestF31_TheDocumentIsMadeFromTheTable(t *testing.T) {
	text, err := json.MarshalIndent(api.OpenAPI(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	goldenfile.Compare(t, filepath.Join("testdata", "openapi.json"), string(text)+"\n")
	c, _ := serve(t, false)
	var served, made any
	if err := json.Unmarshal(c.want(200, "GET", "/api/openapi.json", nil).Raw, &served); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(served)
	b, _ := json.Marshal(made)
	if string(a) != string(b) {
		t.Error("what is served is not what is made")
	}
}
