//go:build (!unix && !windows) || aix || solaris

package filelock

import (
	"errors"
	"os"
)

// TryLock has no locks to use here.
func TryLock(*os.File) (free bool, err error) { return false, errors.ErrUnsupported }

// TryShare has no locks to use here.
func TryShare(*os.File) (free bool, err error) { return false, errors.ErrUnsupported }

// Unlock has no locks to give back here.
func Unlock(*os.File) error { return nil }
