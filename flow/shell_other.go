//go:build !unix

package flow

import (
	"context"
	"os/exec"
)

// shellCommand is a command of the shell of this system.
func shellCommand(ctx context.Context, text string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", text)
}
