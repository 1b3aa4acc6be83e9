package history

import (
	"fmt"

	"github.com/perdure/perdure/retry"
)

// LimitError says that a run has come to a limit of its engine.
type LimitError struct {
	What  string // of which there are too many: "events of history", "pending calls"
	Limit int
	Hint  string // what to do about it
}

func init() { retry.RegisterErrorType[*LimitError]("perdure.LimitError") }

func (e *LimitError) Error() string {
	return fmt.Sprintf("the run has %d %s, which is the limit: %s", e.Limit, e.What, e.Hint)
}
