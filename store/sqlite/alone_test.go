package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/store"
)

// TestE1_AClosedFileIsWhole: after the last Close everything is in the file itself. Who moves
// it, and only it, has all that was acknowledged.
func TestE1_AClosedFileIsWhole(t *testing.T) {
	for _, c := range []struct {
		name string
		use  func(t *testing.T, h *handle)
	}{
		{"a writer", func(*testing.T, *handle) {}},
		{"a writer that has read", func(t *testing.T, h *handle) {
			if _, err := h.Find(t.Context(), 0, "workflow-r", ""); err != nil {
				t.Error(err)
			}
		}},
		{"a writer whose connection broke", func(t *testing.T, h *handle) {
			broken := errors.New("broken")
			err := h.hold(t.Context(), h.writer, "break", func(*conn) error { return &brokenError{broken} })
			if !errors.Is(err, broken) {
				t.Error(err)
			}
			if _, err := h.Find(t.Context(), 0, "workflow-r", ""); err != nil {
				t.Error(err)
			}
		}},
		{"a client beside it that reads and closes last", func(t *testing.T, h *handle) {
			client, err := File(h.path).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Find(t.Context(), 0, "workflow-r", ""); err != nil {
				t.Error(err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		}},
		{"a look at its schema that ends last", func(t *testing.T, h *handle) {
			looking, err := connect(t.Context(), dsn(h.path, "ro"))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := identify(looking, h.path, len(migrations)); err != nil {
				t.Error(err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			looking.close()
			if s, err := File(h.path).(store.Migrator).Schema(t.Context()); err != nil || s.Version != s.Wanted {
				t.Error(s, err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := File(filepath.Join(dir, "test.db")).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			h := s.(*handle)
			run := firstTurn(0, "r").Create
			if err := h.Create(t.Context(), *run); err != nil {
				t.Fatal(err)
			}
			c.use(t, h)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			for _, beside := range []string{"-wal", "-shm"} {
				if info, err := os.Stat(h.path + beside); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is left: %v, %v", beside, info, err)
				}
			}
			moved := filepath.Join(t.TempDir(), "moved.db")
			if err := os.Rename(h.path, moved); err != nil {
				t.Fatal(err)
			}
			again, err := File(moved).Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if _, err := again.Find(t.Context(), 0, "workflow-r", ""); err != nil {
				t.Errorf("the file alone does not have the run: %v", err)
			}
		})
	}
}
