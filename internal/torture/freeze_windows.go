package torture

import "errors"

// CanFreeze says that processes can be made to stand still here.
const CanFreeze = false

var errNoFreeze = errors.New("there is no way to stop a process and let it go on")

// Freeze makes the process stand still.
func (p *Process) Freeze() error { return errNoFreeze }

// Thaw lets it go on.
func (p *Process) Thaw() error { return errNoFreeze }
