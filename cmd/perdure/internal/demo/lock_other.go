//go:build (!unix && !windows) || aix || solaris

package demo

import (
	"errors"
	"os"
)

func tryLock(*os.File) (free bool, err error) { return false, errors.ErrUnsupported }
