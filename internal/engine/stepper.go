package engine

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/store"
)

// stepper is what a resident has in memory: a run, a gate or a schedule. All of them
// advance alike: loaded if need be, stepped, stored, and only then carried out. Except
// where it is said otherwise, the methods belong to the goroutine that works on the
// resident.
type stepper interface {
	// machine is the pure machine; nil before load and after it is of no use any more.
	machine() machine
	// load brings it into memory: from the database, or newly made.
	load(todo []mail) error
	// step takes one step on the mail and returns what is to be stored, the messages it
	// consumes included; with due false there is nothing.
	step(todo []mail, loaded bool) (t store.Turn, due bool, err error)
	// stored carries out the step, which is durable now.
	stored() error
	// refused is told why the step is not durable. The resident is unloaded then.
	refused(err error)
	// answer runs query handlers on the state that the last durable turn left.
	answer(questions []question) error
	// close ends what it runs. The engine's mu is held, and no goroutine works on the
	// resident.
	close()
}

// machine is what a stepper steps. *core.Run, *core.Gate and *core.Timetable are such.
type machine interface {
	NextDue() int64
	Idle() bool
	AwaitsMessage() bool
	Ended() bool
	State() core.State
}

// newStepper returns the stepper of a resident, which is not loaded. The ID says which
// kind it is.
func (e *Engine) newStepper(r *resident) stepper {
	switch entity.KindOf(r.id) {
	case entity.Gate:
		return &standing{resident: r, engine: e, kind: gateKind{e}}
	case entity.Schedule:
		return &standing{resident: r, engine: e, kind: scheduleKind{e}}
	}
	return &activeRun{resident: r, engine: e}
}
