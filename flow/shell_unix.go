//go:build unix

package flow

import (
	"context"
	"os/exec"
	"syscall"
)

// shellCommand is a command in a process group of its own, so that all of it can be
// killed.
func shellCommand(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
