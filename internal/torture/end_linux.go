package torture

import (
	"os/exec"
	"syscall"
)

// dieWithUs asks the kernel to kill the process when this one is gone: a frozen
// one would not notice by itself. An interrupt from the keyboard is for this one only.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
