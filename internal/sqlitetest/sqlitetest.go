package sqlitetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perdure/perdure/store/sqlite"
)

// File writes a new database without runs to a path.
func File(t testing.TB, path string) {
	t.Helper()
	content, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// empty returns the content of a file that was opened once.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlitetest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := sqlite.File(path, sqlite.Exclusive()).Open(context.Background())
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // which leaves nothing in the log
		return nil, err
	}
	return os.ReadFile(path)
})
