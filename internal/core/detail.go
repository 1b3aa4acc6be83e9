package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/suspects"
)

// State is the part of a run's row that turns change.
type State struct {
	Status Status
	Wake   int64
	Closed int64
	Detail []byte
	Full   bool // senders must send it no more signals
}

// Status is the status of a run. The store uses the same words.
type Status string

// The statuses.
const (
	StatusRunning        Status = "running"
	StatusPaused         Status = "paused" // until an operator resumes it
	StatusWaitingForCode Status = "waiting-for-code"
	StatusParked         Status = "parked"
	StatusCompleted      Status = "completed"
	StatusFailed         Status = "failed"
	StatusCanceled       Status = "canceled"
	StatusTerminated     Status = "terminated"
	StatusTimedOut       Status = "timed-out"
	StatusContinued      Status = "continued" // another run of the chain continues
	StatusStanding       Status = "#standing" // of a gate or schedule
)

// Wake times of a run that waits for no particular time. The store has the same values.
const (
	Hot   int64 = 0
	Never int64 = 1<<63 - 1
)

// Detail is the document beside a status: the outcome of a closed run, or why an open run
// does not continue.
type Detail struct {
	Result  *history.Payload `json:"result,omitempty"`
	Failure *history.Failure `json:"failure,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	// Next is the run that follows a continued one, and Initiator says why.
	Next      string `json:"next,omitempty"`
	Initiator string `json:"initiator,omitempty"`
	// Mismatch says where the code of a parked run differs from its history.
	Mismatch *Mismatch `json:"mismatch,omitempty"`
	Stack    string    `json:"stack,omitempty"`
	// Broken says what the code of a parked run did: see view.Wait.
	Broken string `json:"broken,omitempty"`
	// Since is since when the run has had no code, in ns since 1970; 0 if unknown.
	Since int64 `json:"since,omitempty"`
	// Damaged says that part of the record of a parked run cannot be read.
	Damaged bool `json:"damaged,omitempty"`
	// Fingerprint is that of the code that was tried last.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Deaths is how often processes died of the code of a parked run, 0 if it is parked for
	// another reason. An operator may let it go; then Fingerprint is empty.
	Deaths int `json:"deaths,omitempty"`
	// Shared says that these were deaths of several runs, for which no run of the workflow goes
	// on with that build.
	Shared bool `json:"shared,omitempty"`
	// Tried are the fingerprints of code that did not fit, on any node, since code last
	// did.
	Tried []string `json:"tried,omitempty"`
	// Suspect describes attempts to run the code that may have killed their nodes.
	Suspect *suspects.Run `json:"suspect,omitempty"`
	// Says is the status text that the code set last.
	Says string `json:"says,omitempty"`
	// Paused says who paused an open run and when.
	Paused *Pause `json:"paused,omitempty"`
	// Pin is the build to which an open run is pinned, empty for none. History holds it
	// too.
	Pin string `json:"pin,omitempty"`
	// Admission is the ticket of an open run at the gate that bounds the runs of its key.
	Admission *history.Admission `json:"admission,omitempty"`
	// Awaited are the names of the signals that a full run waits for. It takes them all the
	// same.
	Awaited []string `json:"awaited,omitempty"`
}

// LetGo reports whether an operator wants the code of a run with this status to be tried
// again.
func (d *Detail) LetGo(status Status) bool {
	return status == StatusParked && d.Deaths > 0 && d.Fingerprint == ""
}

// EncodeDetail encodes the document beside a status.
func EncodeDetail(d Detail) []byte { return seal(d) }

// seal encodes a document. It holds strings, numbers and payloads, which are valid JSON already,
// so that cannot fail.
func seal(document any) []byte {
	data, _ := history.Seal(document)
	return data
}

// DecodeDetail decodes the document beside a status. An absent document is the zero Detail.
func DecodeDetail(data []byte) (Detail, error) {
	if len(data) == 0 {
		return Detail{}, nil
	}
	if result, is := history.UnsealResult(data); is {
		return Detail{Result: &result}, nil
	}
	return decode[Detail](data, "the outcome or reason in the row of the run")
}

// decode decodes a document, which part names.
func decode[T any](data []byte, part string) (d T, err error) {
	if err = history.Unseal(data, &d); err != nil {
		err = history.Damaged(part, err)
	}
	return d, err
}
