package filelock

import (
	"os"

	"golang.org/x/sys/windows"
)

// TryLock locks the file for this opening of it: a second opening, in this
// process or another, is not free until this one is closed. Locks are mandatory
// on Windows, so a byte far behind the text is locked: others can read who
// holds it.
func TryLock(f *os.File) (free bool, err error) {
	return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK)
}

// TryShare is TryLock for one who only looks: others may look too.
func TryShare(f *os.File) (free bool, err error) { return lockFile(f, 0) }

// Unlock gives a lock back.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
}

func lockFile(f *os.File, how uint32) (free bool, err error) {
	at := &windows.Overlapped{OffsetHigh: 1}
	err = windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if err == windows.ERROR_LOCK_VIOLATION {
		return false, nil
	}
	return err == nil, err
}
