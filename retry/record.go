package retry

import "time"

// Record is what is known of one attempt afterwards. It is plain data.
type Record struct {
	// Number is the attempt's number, from 1.
	Number int

	// ID is the attempt's id, see attemptID. Do leaves it empty in the records
	// of a call that nobody asked to record or to identify.
	ID string

	// Start and End are when the attempt began and ended. Start is the zero
	// time if it is not known (Do reads no clock before the first attempt of a
	// call that needs none) and if the attempt never began: because it waited
	// too long at a gate, or because a gate refused it, which is no attempt and
	// is not counted as one.
	Start, End time.Time

	// Err is the failure, nil for a success.
	Err error

	// Delay is the wait that followed, and Reason why it, or why nothing,
	// followed.
	Delay  time.Duration
	Reason Reason
}

// MaxRecords is how many records are kept of one call, however many attempts it
// makes: the first half and the last half of them.
const MaxRecords = 20

// AppendRecord appends a record and keeps at most MaxRecords of them, the first
// half of the attempts and the last half. The numbers in the records show the
// gap. Like append it may write to the array of records and returns the
// updated slice.
func AppendRecord(records []Record, r Record) []Record {
	if len(records) < MaxRecords {
		return append(records, r)
	}
	const half = MaxRecords / 2
	copy(records[half:], records[half+1:])
	records[len(records)-1] = r
	return records
}
