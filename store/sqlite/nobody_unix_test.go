//go:build unix

package sqlite_test

import (
	"os"
	"os/exec"
	"syscall"
)

// asNobody takes root's privileges off a child process.
func asNobody(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
