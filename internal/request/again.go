package request

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// againNamed is how many calls a preview names that are made once more.
const againNamed = 5

// again says which calls of a run are made once more if another run goes on from a call, although
// their work is done or may be done; "" if none. Of those behind the call it is known that they
// completed. Those that are open now may have an attempt under way, and the other run, which knows
// nothing of it, asks nobody.
func (c *Client) again(ctx context.Context, row *store.Run, call int64, keys bool) (string, error) {
	calls, err := c.read.Calls(ctx, row.WorkflowID, row.ID, view.CallRange{After: call - 1})
	if err != nil {
		return "", err
	}
	var done, open []string
	for i := range calls {
		if calls[i].Completed > 0 {
			done = append(done, fmt.Sprintf("%d (%s)", calls[i].Call, calls[i].Name))
		}
	}
	if row.Status.Open() {
		d, err := c.read.Describe(ctx, row.WorkflowID, row.ID)
		if err != nil {
			return "", err
		}
		for i := range d.Pending {
			if p := &d.Pending[i]; mayBeDone(p) {
				open = append(open, fmt.Sprintf("%d (%s)", p.Call, p.Name))
			}
		}
	}
	how := "done twice, under another idempotency key"
	if keys {
		how = "made again under the same idempotency key"
	}
	return callsNamed("; completed already, and "+how, done) + callsNamed("; perhaps done, and made again without a question", open), nil
}

// mayBeDone reports whether an open call has an attempt that may have had its effect, and that its
// policy would not simply repeat.
func mayBeDone(c *view.Call) bool {
	if c.Doubt != nil {
		return true
	}
	if c.State != view.CallRunning && c.State != view.CallExternal {
		return false
	}
	p, err := retry.Parse(c.Policy)
	return err == nil && (p.AfterUnknown(retry.TypeWorkerLost) != retry.RepeatUnknown || p.CrashLimit == 1)
}

// callsNamed names calls; "" for none.
func callsNamed(says string, calls []string) string {
	if len(calls) == 0 {
		return ""
	}
	if n := len(calls) - againNamed; n > 0 {
		calls = append(slices.Clone(calls[:againNamed]), fmt.Sprintf("and %d more", n))
	}
	return says + ": call " + strings.Join(calls, ", ")
}
