package engine

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/post"
)

// stepper is what a resident holds: a run, a gate or a schedule. All of them advance in the
// same way: load if needed, step, commit, and only then carry out. Unless stated otherwise,
// the methods belong to the goroutine that works on the resident.
type stepper interface {
	workflowID() string
	// machine returns the pure machine, nil if it is not loaded.
	machine() machine
	// load brings it into memory: from the database, or newly created.
	load(todo []post.Mail) error
	// takeDeferred adds to a turn the mail of earlier ones that the machine can take now. The
	// engine's mu is held.
	takeDeferred(t *turn)
	// step takes one step on the mail of a turn and says what to commit, including the messages
	// that it consumes.
	step(t *turn) error
	// committed is told that a turn is durable.
	committed(t *turn)
	// apply carries out a turn that is durable, or had nothing to commit. The engine's mu is
	// held.
	apply(t *turn) error
	// refused handles a turn that is not durable because of err. The resident is evicted
	// afterwards.
	refused(t *turn, err error)
	// answer runs query handlers on the state after the last durable turn.
	answer(questions []question) error
	// close ends its code. The engine's mu is held, and no goroutine works on the resident.
	close()
}

// machine is the pure machine of a stepper: *core.Run, *core.Gate or *core.Timetable.
type machine interface {
	NextDue() int64
	Idle() bool
	AwaitsMessage() bool
	Ended() bool
	State() core.State
}
