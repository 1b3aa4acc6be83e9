package request

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// againNamed is how many calls a preview names that are made once more.
const againNamed = 5

// again says which calls of a run have completed and are made once more if another run goes on
// from a call, "" if none. Unless they keep their idempotency keys, what is behind them does them
// twice.
func (c *Client) again(ctx context.Context, row *store.Run, call int64, keys bool) (string, error) {
	calls, err := c.read.Calls(ctx, row.WorkflowID, row.ID, view.CallRange{After: call - 1})
	if err != nil {
		return "", err
	}
	calls = slices.DeleteFunc(calls, func(c view.CallAttempts) bool { return c.Completed == 0 })
	if len(calls) == 0 {
		return "", nil
	}
	var names []string
	for i := range calls[:min(len(calls), againNamed)] {
		names = append(names, fmt.Sprintf("%d (%s)", calls[i].Call, calls[i].Name))
	}
	if n := len(calls) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	if keys {
		return "; completed already, and made again under the same idempotency key: call " + strings.Join(names, ", "), nil
	}
	return "; completed already, and done twice, under another idempotency key: call " + strings.Join(names, ", "), nil
}
