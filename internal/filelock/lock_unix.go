//go:build unix && !aix && !solaris

package filelock

import (
	"os"
	"syscall"
)

// TryLock locks the file for this opening of it: a second opening, in this
// process or another, is not free until this one is closed.
func TryLock(f *os.File) (free bool, err error) { return flock(f, syscall.LOCK_EX) }

// TryShare is TryLock for one who only looks: others may look too.
func TryShare(f *os.File) (free bool, err error) { return flock(f, syscall.LOCK_SH) }

// Unlock gives a lock back, whoever else has this opening of the file.
func Unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

func flock(f *os.File, how int) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
