package bounds

import (
	"fmt"

	"github.com/perdure/perdure/retry"
)

// The errors can be returned by activities that use an engine, and reach workflows as
// themselves.
func init() {
	retry.RegisterErrorType[*InputError]("perdure.InputError")
	retry.RegisterErrorType[*LimitError]("perdure.LimitError")
}

// InputError means that an argument, such as an ID or a name, is invalid.
type InputError struct {
	What    string // "workflow ID", "signal name" and so on
	Problem string // "is empty" and so on
}

func (e *InputError) Error() string { return "the " + e.What + " " + e.Problem }

// LimitError means that a run has reached a limit of its engine: see perdure.MaxHistory,
// perdure.MaxPendingCalls and perdure.MaxSignalBacklog.
type LimitError struct {
	What  string // "events of history", "pending calls" or "unread signals"
	Limit int    // 0 if it is not known where the error was made
	Hint  string // what to do about it
}

func (e *LimitError) Error() string {
	if e.Limit == 0 {
		return fmt.Sprintf("the run has as many %s as it may: %s", e.What, e.Hint)
	}
	return fmt.Sprintf("the run has %d %s, which is the limit: %s", e.Limit, e.What, e.Hint)
}
