//go:build unix && !aix && !solaris

package sqlite

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestALockEndsWithItsEngineNotWithAFork: a process that is being forked has the files of its
// parent for a moment, and must not look like an engine that still has the database.
func TestALockEndsWithItsEngineNotWithAFork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	l, err := acquire(path, path, "first")
	if err != nil {
		t.Fatal(err)
	}
	forked, err := syscall.Dup(int(l.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(forked)
	if !held(path) {
		t.Error("the lock of an engine does not count")
	}
	l.release()
	if held(path) {
		t.Error("after its end the lock is held")
	}
	if l, err = acquire(path, path, "second"); err != nil {
		t.Fatal(err)
	}
	l.release()
}
