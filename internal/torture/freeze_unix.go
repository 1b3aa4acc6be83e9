//go:build unix

package torture

import "syscall"

// CanFreeze says that processes can be made to stand still here.
const CanFreeze = true

// Freeze makes the process stand still.
func (p *Process) Freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets it continue.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
