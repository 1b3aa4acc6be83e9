package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Doctor reads all records of the engine's group (histories, rows of runs and calls, the
// ledger, gates, schedules) and returns what is damaged, missing or left behind, and rows of
// calls that contradict each other or the history: loading their run would refuse them. On SQL
// databases it also checks the database and its server: rows of runs that do not exist,
// messages that no run reads, clocks, connections, timeouts, dead rows, and transactions
// that block others. Each finding says what to do. It changes nothing, and works beside
// engines and without one. It takes as long as reading the whole database, and keeps one
// page in memory, with what is open of the run being read. A run whose rows contradict is read
// a second time, as a whole.
//
// It cannot detect a wrong value that is stored only in a column, such as the status of a
// run, nor missing turns at the end of a history: use the checks of the database itself.
func Doctor(ctx context.Context, e *perdure.Engine, filter view.DoctorFilter) (*view.Checkup, error) {
	c, err := inside(e).Doctor(ctx, filter)
	return c, failed(err, "doctor")
}
