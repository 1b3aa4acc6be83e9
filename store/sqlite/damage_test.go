package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/store/sqlite"
)

// TestADamagedFileIsNamed: of a file whose middle is gone the error says which it is
// and what to do.
func TestADamagedFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s, err := sqlite.File(path).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append(bytes.Clone(whole[:100]), bytes.Repeat([]byte{0xa5}, len(whole)-100)...)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path, nil, "damaged", "backup", "integrity_check")
}
