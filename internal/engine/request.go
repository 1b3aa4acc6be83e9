package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// What requests are made of; see package request.
type (
	StartRequest = request.Start
	Ending       = request.Ending
	ForkRequest  = request.Fork
	IDInUseError = request.IDInUseError
	RefusedError = request.RefusedError
)

// The endings.
const (
	NoEnd   = request.NoEnd
	AnyEnd  = request.AnyEnd
	Failure = request.Failure
)

// QueryTime is how long a query waits for its answer if nobody says otherwise.
const QueryTime = request.QueryTime

// Errors of requests.
var (
	ErrUnanswered       = request.ErrUnanswered
	ErrNoAnswer         = request.ErrNoAnswer
	ErrUpdateUnfinished = request.ErrUpdateUnfinished
	ErrNotPending       = request.ErrNotPending
	ErrInvalidToken     = request.ErrInvalidToken
	ErrStaleToken       = request.ErrStaleToken
	// ErrNoHandler says that the run does not answer a query of that name.
	ErrNoHandler = workflow.ErrNoHandler
	// ErrNoCode says that whoever was to answer has not the code of the run.
	ErrNoCode = errors.New("the code of the run is missing")
	// ErrParked says that the run is parked: nobody knows where its code stands.
	ErrParked = errors.New("the run is parked")
)
