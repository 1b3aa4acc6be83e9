//go:build unix && !aix && !solaris

package filelock

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAForkKeepsNoLock: a process that is being forked has the files of its parent until it
// is another program.
func TestAForkKeepsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	holder := open()
	if free, err := TryLock(holder); !free || err != nil {
		t.Fatal(free, err)
	}
	forked, err := syscall.Dup(int(holder.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(forked)
	if err := Unlock(holder); err != nil {
		t.Error(err)
	}
	holder.Close()
	if free, err := TryLock(open()); !free || err != nil {
		t.Errorf("after its end the lock is free: %t, %v", free, err)
	}
}
