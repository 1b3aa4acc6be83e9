//go:build unix && !linux

package pgtest

import "syscall"

// dieWithUs leaves it to the undertaker to end a server whose test is gone.
func dieWithUs(*syscall.SysProcAttr) {}
