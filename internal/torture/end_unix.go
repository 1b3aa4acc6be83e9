//go:build unix && !linux

package torture

import (
	"os/exec"
	"syscall"
)

// dieWithUs does little here: a process notices the end of its standard input,
// unless it is frozen. An interrupt from the keyboard is for this one only.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
