package filelock

import (
	"os"
	"path/filepath"
	"testing"
)

// Each opening of a file is another one to the lock, in one process too.
func TestALockKeepsOthersOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	expect := func(what string, want bool, try func(*os.File) (bool, error), f *os.File) {
		t.Helper()
		if free, err := try(f); free != want || err != nil {
			t.Errorf("%s: free %t, %v; want %t", what, free, err, want)
		}
	}
	holder, reader := open(), open()
	expect("the first", true, TryLock, holder)
	expect("another", false, TryLock, open())
	expect("one who looks", false, TryShare, reader)
	holder.Close()
	expect("after the first is gone", true, TryShare, reader)
	expect("two who look", true, TryShare, open())
	expect("one who wants it while they look", false, TryLock, open())
}
