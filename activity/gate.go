package activity

import (
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/body"
)

// Through lets attempts run only while they hold the gates. Here a gate is known
// by its name, in all processes of the engine's group: its limit holds for all
// calls of all activities that name it, over all machines, and its state is in the
// database. Calls of retry.Do that use the same handle do not count: they are
// bounded in their process alone. A gate without a mode has gate.Rejoin here.
// Where calls say different things about a gate, the latest is right.
//
// A call holds no slot of a process while it waits for a gate. It takes several
// gates in the order of their names. While another one makes it wait, it keeps what it
// has only for a moment, at first for half a second; then it gives that back, keeps its
// places in line, and waits for that one alone. Given twice, the last Through holds;
// without gates it takes them away.
//
// The engine cannot stop a body that goes on after its attempt was given up
// (because it timed out, was canceled, or its process lost its lease): it counts
// attempts, and such a body runs beside them.
func Through(gates ...*gate.Gate) Option {
	return body.Set(func(o *body.Options) { o.Gates = gates })
}

// Priority says where the call stands among those that wait for its gates, and for a
// slot of its process: higher goes first, and calls of one priority go in the order in
// which they came. A call without one, or with zero, has that of its run (see
// workflow.Priority), which is 0 without that option.
func Priority(p int) Option { return body.Set(func(o *body.Options) { o.Priority = p }) }
