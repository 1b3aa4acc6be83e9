package history

import (
	"fmt"

	"github.com/perdure/perdure/retry"
)

// LimitError says that a run has come to a limit of its engine.
type LimitError struct {
	What  string // of which there are too many: "events of history", "pending calls", "unread signals"
	Limit int    // 0 if whoever says so does not know it
	Hint  string // what to do about it
}

func init() { retry.RegisterErrorType[*LimitError]("perdure.LimitError") }

func (e *LimitError) Error() string {
	if e.Limit == 0 {
		return fmt.Sprintf("the run has as many %s as it may: %s", e.What, e.Hint)
	}
	return fmt.Sprintf("the run has %d %s, which is the limit: %s", e.Limit, e.What, e.Hint)
}
