package ops

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Doctor reads all that is on record of the engine's group (histories, rows of runs and
// calls, the ledger, gates, schedules) and returns what is damaged, missing or left behind.
// On SQL databases it also looks at the database and its server: rows of runs that do not
// exist, messages that no run reads, clocks, connections, limits of time, dead rows, and
// transactions that hold up others. Each finding says what to do.
// It changes nothing, and works beside engines and without one. It takes as long as
// reading the whole database does; what it keeps in memory is one page.
//
// It does not see what only a column says, such as the status of a run, nor that the last
// turns of a history are missing: that is for the checks of the database itself.
func Doctor(ctx context.Context, e *perdure.Engine, filter view.DoctorFilter) (*view.Checkup, error) {
	c, err := inside(e).Doctor(ctx, filter)
	return c, failed(err, "doctor")
}
