//go:build unix

package clustertest

import "syscall"

// stop makes the process stand still.
func (n *node) stop() { n.signal(syscall.SIGSTOP) }

// proceed lets it go on.
func (n *node) proceed() { n.signal(syscall.SIGCONT) }

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatalf("node %s: %v", n.label, err)
	}
}
