package torture

import "errors"

// CanFreeze says that processes can be made to stand still here.
const CanFreeze = false

var errNoFreeze = errors.New("this system cannot suspend a process and resume it")

// Freeze makes the process stand still.
func (p *Process) Freeze() error { return errNoFreeze }

// Thaw lets it continue.
func (p *Process) Thaw() error { return errNoFreeze }
