package main

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/examples/internal/kill"
	"github.com/perdure/perdure/store/sqlite"
)

func TestMain(m *testing.M) { kill.Main(m, main) }

// The process dies three times. Every entry is in the table once, although nothing
// in the table forbids to insert it again, and no history has grown long.
func TestEntriesSurviveKills(t *testing.T) {
	db := filepath.Join(t.TempDir(), "poller.db")
	copied := make(chan struct{}) // closed when a request asks what comes after the last entry
	last := sync.OnceFunc(func() { close(copied) })
	news := &feed{length: 150}
	service := &kill.Service{At: []int{2, 17, 40}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("after") == "150" {
			last()
		}
		news.ServeHTTP(w, r)
	})}
	server := httptest.NewServer(service)
	defer server.Close()
	args := []string{"-db", db, "-feed", server.URL, "-every", "1ms"}

	for range service.At {
		service.Life(t, args...)
	}
	p := kill.Start(t, args...)
	service.Strike(p)
	select {
	case <-copied:
	case <-t.Context().Done():
	}
	p.Kill()

	table, err := sql.Open("sqlite", db)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var rows, numbers, highest int
	if err := table.QueryRow("SELECT count(*), count(DISTINCT number), max(number) FROM entries").Scan(&rows, &numbers, &highest); err != nil {
		t.Fatal(err)
	}
	if rows != 150 || numbers != 150 || highest != 150 {
		t.Errorf("the table has %d rows with %d numbers up to %d, want 150", rows, numbers, highest)
	}

	client, err := perdure.Open(t.Context(), sqlite.File(db))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	d, err := client.Workflow("news").Describe(t.Context())
	if err != nil || len(d.Chain) < 2 {
		t.Errorf("the chain is %+v, %v; want several runs", d.Chain, err)
	}
	events, err := client.Workflow("news").History(t.Context())
	if err != nil || len(events) > 6*pollsPerRun+1 {
		t.Errorf("the history has %d events, %v", len(events), err)
	}
}
