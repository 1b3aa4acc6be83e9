package pgtest

import "syscall"

// dieWithUs asks the kernel for SIGQUIT, at which a server ends without
// ceremony, when the thread that starts it is gone.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
