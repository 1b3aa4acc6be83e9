package activity

import (
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/seal"
)

// Through makes attempts run only while they hold a slot of each gate. A gate is
// identified by its name in all processes of the engine's group: its limit applies to all
// calls of all activities that name it, on all machines, and its state is in the
// database. Calls of retry.Do that use the same handle are limited separately, in their
// process. The default mode is gate.Rejoin. If calls declare different specs for a gate,
// the latest applies.
//
// A call holds no slot of a process while it waits for a gate. It takes several gates in
// the order of their names. While it waits for one gate, it keeps the slots of others
// only briefly, at first for half a second; then it gives them back, keeps its places in
// line, and waits for that gate alone. If Through is given twice, the last one applies;
// without gates it removes them.
//
// The engine cannot stop a body that continues after its attempt was given up (because it
// timed out, was canceled, or its process lost its lease). Gates count attempts, so such
// a body runs in addition to them.
func Through(gates ...*gate.Gate) Option {
	return seal.With(func(o *seal.ActivityOptions) { o.Gates = gates })
}

// Priority orders the call among those that wait for its gates or for a slot of its
// process: a higher priority goes first, and calls of equal priority go in the order in
// which they came. Zero is the priority of the run (see workflow.Priority), which is 0 by
// default.
func Priority(p int) Option { return seal.With(func(o *seal.ActivityOptions) { o.Priority = p }) }
