package retry

import "time"

// Record describes an attempt, or a question about one, that has ended. It is plain data.
type Record struct {
	// Number is the attempt's number, from 1.
	Number int

	// ID is the attempt's ID, see AttemptInfo.
	ID string

	// Start and End are when the attempt began and ended. Start is the zero
	// time if it is not known (Do reads no clock before the first attempt of a
	// call that needs none) and if the attempt never began: because it waited
	// too long at a gate, or because a gate refused it, which is no attempt and
	// is not counted as one.
	Start, End time.Time

	// Err is the failure, nil for a success.
	Err error

	// Question is zero for an attempt. A question about the attempt before (see Verify) has a
	// number in the same sequence; Question counts those about that attempt from 1, and Answer
	// is what it found. Err is then why it found nothing.
	Question int
	Answer   Answer

	// Delay is the wait that followed, and Reason why it, or why nothing,
	// followed.
	Delay  time.Duration
	Reason Reason
}
