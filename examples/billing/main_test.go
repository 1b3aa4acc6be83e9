package main

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/examples/internal/kill"
	"github.com/perdure/perdure/store/sqlite"
)

func TestMain(m *testing.M) { kill.Main(m, main) }

// The process dies three times while it bills, and once stays dead for a while. No
// period is left out, and in each of them every subscription is charged once, although
// nothing in the table forbids to insert a payment again.
func TestPeriodsSurviveKills(t *testing.T) {
	const periods = 4
	db := filepath.Join(t.TempDir(), "billing.db")
	money := &bank{}
	billed := make(chan struct{}) // closed when the period after them is being billed
	last := sync.OnceFunc(func() { close(billed) })
	service := &kill.Service{At: []int{3, 7, 13}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		money.ServeHTTP(w, r)
		if money.periods() > periods {
			last()
		}
	})}
	server := httptest.NewServer(service)
	defer server.Close()
	args := []string{"-db", db, "-service", server.URL, "-every", "1s"}

	for range service.At {
		service.Life(t, args...)
	}
	time.Sleep(2 * time.Second) // no process is there when two periods come
	p := kill.Start(t, args...)
	service.Strike(p)
	select {
	case <-billed:
	case <-time.After(time.Minute):
		t.Fatalf("%d periods were billed within a minute", money.periods())
	}
	p.Kill()
	server.Close() // what is in the book now stays so

	if money.repeated == 0 {
		t.Error("no request was repeated, so no kill came in the middle")
	}
	charged, noted := map[string]int{}, payments(t, db)
	for _, i := range money.book {
		charged[i.Key()]++
	}
	client, err := perdure.Open(t.Context(), sqlite.File(db))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for n := range periods {
		period := money.book[0].Period.Add(time.Duration(n) * time.Second)
		for id, want := range map[string]int{"ada": 1, "bela": 1, "chen": 1, "dora": 0, "emil": 1} {
			key := Invoice{Subscription{ID: id}, period}.Key()
			if charged[key] != want || noted[key] != want {
				t.Errorf("%s was charged %d times and noted %d times, want %d", key, charged[key], noted[key], want)
			}
		}
		run := perdure.Attach[Report](client, "billing/"+period.Format(time.RFC3339))
		report, err := run.Result(t.Context())
		if want := (Report{Cents: 7600, Declined: []string{"dora"}}); err != nil || !reflect.DeepEqual(report, want) {
			t.Errorf("%s reports %+v, %v, want %+v", run.ID(), report, err, want)
		}
	}
}

// periods is how many of them are in the book.
func (b *bank) periods() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[time.Time]bool{}
	for _, i := range b.book {
		all[i.Period] = true
	}
	return len(all)
}

// payments counts the rows of the table for each key.
func payments(t *testing.T, file string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT subscription || '/' || period FROM payments")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		all[key]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
