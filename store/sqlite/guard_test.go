package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/store"
)

// TestE1_NothingIsAcknowledgedInAFileThatIsGone: whoever deletes, moves or replaces the file
// below an open store is noticed by every verb that writes, and by every other one a tenth of a
// second later; it says what happened.
func TestE1_NothingIsAcknowledgedInAFileThatIsGone(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			other := filepath.Join(filepath.Dir(path), "other.db")
			return errors.Join(os.WriteFile(other, nil, 0o600), os.Rename(other, path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, epoch := owned(t)
			if err := commitAll(t.Context(), h, firstTurn(epoch, "a")); err != nil {
				t.Fatal(err)
			}
			if err := take(h.path); err != nil {
				t.Fatal(err)
			}
			aMomentLater(h)
			_, err := h.Inbox(t.Context(), []int{0}, store.InboxRead{})
			for verb, err := range map[string]error{
				"Commit": commitAll(t.Context(), h, firstTurn(epoch, "b")), "Create": h.Create(t.Context(), *firstTurn(0, "c").Create), "Inbox": err,
			} {
				if !store.Refused(err) || !strings.Contains(err.Error(), "deleted or replaced") {
					t.Errorf("%s: %v", verb, err)
				}
			}
		})
	}
}

// aMomentLater lets the last look at the file be too old for reads.
func aMomentLater(h *handle) {
	h.guard.mu.Lock()
	defer h.guard.mu.Unlock()
	h.guard.looked = h.guard.looked.Add(-lookAgain)
}

// TestE7_ALockThatIsRemovedIsTakenAgain: an engine whose lock file was removed makes it again.
// If another engine was faster, every verb of the first says so, also when the other has gone.
func TestE7_ALockThatIsRemovedIsTakenAgain(t *testing.T) {
	h, epoch := owned(t)
	remove := func() {
		t.Helper()
		if err := os.Remove(h.path + ".lock"); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *handle {
		t.Helper()
		s, err := File(h.path).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.(*handle)
	}
	other := open()
	remove()
	if err := commitAll(t.Context(), h, firstTurn(epoch, "a")); err != nil {
		t.Fatal(err)
	}
	var inUse *store.InUseError
	if err := other.Join(t.Context(), store.Node{ID: "other"}); !errors.As(err, &inUse) {
		t.Fatalf("a second engine: %v", err)
	}
	remove()
	if err := other.Join(t.Context(), store.Node{ID: "other"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		aMomentLater(h)
		_, err := h.Inbox(t.Context(), []int{0}, store.InboxRead{})
		if !store.Refused(err) || !strings.Contains(err.Error(), "another engine") {
			t.Errorf("the first: %v", err)
		}
		if _, err := other.Inbox(t.Context(), []int{0}, store.InboxRead{}); err != nil && !errors.Is(err, store.ErrStoreClosed) {
			t.Errorf("the other: %v", err)
		}
		other.Close()
	}
	// Another that came and went between two looks.
	second := open()
	if err := second.Join(t.Context(), store.Node{ID: "second"}); err != nil {
		t.Fatal(err)
	}
	remove()
	third := open()
	if err := third.Join(t.Context(), store.Node{ID: "third"}); err != nil {
		t.Fatal(err)
	}
	third.Close()
	aMomentLater(second)
	if _, err := second.Inbox(t.Context(), []int{0}, store.InboxRead{}); !store.Refused(err) || !strings.Contains(err.Error(), "another engine") {
		t.Errorf("the second: %v", err)
	}
}
