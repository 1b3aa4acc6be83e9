//go:build unix && !aix && !solaris

package demo

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the file for this process.
func tryLock(f *os.File) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
