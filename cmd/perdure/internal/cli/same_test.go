package cli

import (
	"strings"
	"testing"
	"time"
)

// TestWhatToTypeNamesTheDatabase, and no password that the name of the database has: whatever is
// printed ends up in tickets.
func TestWhatToTypeNamesTheDatabase(t *testing.T) {
	for db, want := range map[string]string{
		"":                       "perdure nodes",
		"my runs.db":             "perdure nodes --db 'my runs.db'",
		"postgres://ann@db/shop": "perdure nodes --db postgres://ann@db/shop",
		"postgres://ann:geheim@db/shop?sslmode=require":  "perdure nodes --db 'postgres://ann@db/shop?sslmode=require'",
		"postgres://ann@db/shop?password=geheim":         "perdure nodes --db postgres://ann@db/shop",
		"host=db user=ann password=geheim dbname=shop":   "perdure nodes --db 'postgres:///shop?host=db&user=ann'",
		"postgres://ann:ge@heim@db/shop?schema=berliner": "perdure nodes",
	} {
		scr, source, _ := printer(time.Now())
		rootCommand(scr, source)
		source.named = db
		got := source.sameDatabase("perdure nodes")
		if got != want {
			t.Errorf("%q:\n  %s\nwant:\n  %s", db, got, want)
		}
		if strings.Contains(got, "geheim") || strings.Contains(got, "heim@") {
			t.Errorf("%q shows a password: %s", db, got)
		}
	}
}
