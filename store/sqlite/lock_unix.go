//go:build unix && !aix && !solaris

package sqlite

import (
	"os"
	"syscall"
)

// tryLock locks the file for this opening of it: a second opening, in this
// process or another, is refused until this one is closed.
func tryLock(f *os.File) (free bool, err error) { return flock(f, syscall.LOCK_EX) }

// tryShare is tryLock for one who only looks: others may look too.
func tryShare(f *os.File) (free bool, err error) { return flock(f, syscall.LOCK_SH) }

func flock(f *os.File, how int) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
