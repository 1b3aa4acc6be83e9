package main

import (
	"database/sql"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/examples/internal/kill"
)

func TestMain(m *testing.M) { kill.Main(m, main) }

// The process dies three times while it imports. Every row is in the table once,
// although nothing in the table forbids to insert it again.
func TestRowsSurviveKills(t *testing.T) {
	dir := t.TempDir()
	file, db := filepath.Join(dir, "customers.csv"), filepath.Join(dir, "import.db")
	cities := []string{"Oslo", "Lima", "Atlantis", "Accra", "Hanoi"}
	var text string
	for i := range 60 {
		text += fmt.Sprintf("customer %02d,%s\n", i, cities[i%len(cities)])
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	service := &kill.Service{Handler: &places{}, At: []int{4, 23, 61}}
	server := httptest.NewServer(service)
	defer server.Close()

	said := service.Lives(t, "-db", db, "-geocoder", server.URL, file)
	want := "48 customers were imported, 12 were not.\n"
	for i := 2; i < 60; i += 5 {
		want += fmt.Sprintf("  customer %02d: no such city\n", i)
	}
	if said != want {
		t.Errorf("it says\n%s\nand not\n%s", said, want)
	}

	table, err := sql.Open("sqlite", db)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var rows, names int
	if err := table.QueryRow("SELECT count(*), count(DISTINCT name) FROM customers WHERE place != ''").Scan(&rows, &names); err != nil {
		t.Fatal(err)
	}
	if rows != 48 || names != 48 {
		t.Errorf("the table has %d rows of %d customers, want 48 of 48", rows, names)
	}
}
