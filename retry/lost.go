package retry

import "fmt"

// WorkerLostError means that the worker that ran an attempt was lost, so it is unknown
// how far the attempt came. The fields are exported so that a codec can rebuild it.
//
// A lost attempt runs again and is not charged, so a caller gets this error only as the
// cause of a quarantine.
type WorkerLostError struct {
	// Worker names the worker, empty if it is not known.
	Worker string

	// Attempt is the number of the attempt that was lost.
	Attempt int

	// Losses is how many attempts of the call were lost so far, this one
	// included, and Limit the policy's CrashLimit.
	Losses, Limit int
}

// Error says which attempt was lost and how many were lost before.
func (e *WorkerLostError) Error() string {
	worker := "the worker"
	if e.Worker != "" {
		worker = "the worker " + e.Worker
	}
	return fmt.Sprintf("%s was lost while attempt %d ran (loss %d of at most %d)", worker, e.Attempt, e.Losses, e.Limit)
}

// ErrorType returns WorkerLost.
func (e *WorkerLostError) ErrorType() string { return TypeWorkerLost }
