//go:build (!unix && !windows) || aix || solaris

package sqlite

import (
	"errors"
	"os"
)

func tryLock(*os.File) (free bool, err error) {
	return false, errors.ErrUnsupported
}

func tryShare(*os.File) (free bool, err error) { return false, errors.ErrUnsupported }
