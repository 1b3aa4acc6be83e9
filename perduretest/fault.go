package perduretest

import (
	"time"

	"github.com/perdure/perdure/internal/faulty"
)

// Fault is what happens at one write to the database.
type Fault struct{ inner faulty.Fault }

// The faults that need no argument.
var (
	// CrashBefore ends the process before the write is done.
	CrashBefore = Fault{faulty.CrashBefore}
	// CrashAfter ends the process when the write is done and not yet answered.
	CrashAfter = Fault{faulty.CrashAfter}
	// FailBefore answers that the database is not available, and does nothing.
	FailBefore = Fault{faulty.FailBefore}
	// FailAfter does the write and answers that the database is not available:
	// the answer was lost.
	FailAfter = Fault{faulty.FailAfter}
)

// Slow lets the write take that much virtual time longer.
func Slow(delay time.Duration) Fault { return Fault{faulty.Slow(delay)} }

// Outage makes the database unavailable from the write on, itself included, for
// that much virtual time.
func Outage(length time.Duration) Fault { return Fault{faulty.CutOff(length)} }

// String says what happens: "crashes before" ...
func (f Fault) String() string { return f.inner.String() }
