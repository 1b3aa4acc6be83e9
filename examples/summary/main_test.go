package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/examples/internal/kill"
	"github.com/perdure/perdure/store/sqlite"
)

func TestMain(m *testing.M) { kill.Main(m, main) }

// The process dies twice. The summary is whole, each answer was paid for once, and
// the attempts that were refused with a time to come back waited for it.
func TestSummariesSurviveKills(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "summary.db")
	var files []string
	var want []string
	words := 0
	for i := range 12 {
		file := filepath.Join(dir, fmt.Sprintf("%d.txt", i))
		if err := os.WriteFile(file, fmt.Appendf(nil, "Document %d begins. Then it goes on.", i), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		want = append(want, fmt.Sprintf("Document %d begins.", i))
		words += 7 + 3
	}
	model := &llm{takes: 5 * time.Millisecond}
	service := &kill.Service{Handler: model, At: []int{5, 13}}
	server := httptest.NewServer(service)
	defer server.Close()

	said := service.Lives(t, append([]string{"-db", db, "-model", server.URL}, files...)...)
	if want := strings.Join(want, " "); said != want+"\n" {
		t.Errorf("the summary is\n%s\nand not\n%s", said, want)
	}
	if model.most > 7 { // three may be left of a dead process; without the gate all twelve run
		t.Errorf("%d requests ran at the same time", model.most)
	}
	if model.charged != words {
		t.Errorf("%d words were paid for, want %d", model.charged, words)
	}

	client, err := perdure.Open(t.Context(), sqlite.File(db))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	attempts, err := client.Workflow("summary-1").Attempts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, a := range attempts {
		if a.Reason == "server_delay" {
			asked++
			if a.Delay != time.Second {
				t.Errorf("an attempt that was asked to come back after a second waits for %s", a.Delay)
			}
		}
	}
	if asked == 0 {
		t.Errorf("no attempt was told when to come back: %+v", attempts)
	}
}
