package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestThePageShowsTheResults: what the performance page shows is made from results.json, and
// its pictures are small.
func TestThePageShowsTheResults(t *testing.T) {
	const docs = "../docs"
	page, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, "performance.md")
	if err := os.WriteFile(copied, page, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-from", "results.json", "-page", copied}, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"performance.md", "pictures/throughput.svg", "pictures/latency.svg", "pictures/lateness.svg"} {
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.ReadFile(filepath.Join(docs, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(is, want) {
			t.Errorf("docs/%s is not what results.json says (%v); in bench, run: go run . -from results.json -page ../docs/performance.md", name, err)
		}
		if len(want) > 200<<10 {
			t.Errorf("%s has %d bytes, of 200 KiB at most", name, len(want))
		}
	}
}
