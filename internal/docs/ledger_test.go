package docs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// rateLimited and unavailable are errors as clients of a service define them.
type rateLimited struct{}

func (rateLimited) Error() string     { return "429 Too Many Requests" }
func (rateLimited) ErrorType() string { return "RateLimited" }

type unavailable struct{}

func (unavailable) Error() string     { return "connection refused" }
func (unavailable) ErrorType() string { return "Unavailable" }

// TestE22_TheLedgerOfThePage runs the call whose attempts the page shows: it
// fails, is lost in a crash, is told to come later, takes too long, and succeeds.
func TestE22_TheLedgerOfThePage(t *testing.T) {
	charge := activity.Declare[string, string]("charge", activity.Retry(retry.Policy{
		AttemptTimeout: 10 * time.Second, Jitter: retry.NoJitter,
	}))
	checkout := workflow.New("checkout", func(wf *workflow.Context, order string) (string, error) {
		return workflow.Call(wf, charge, order)
	})
	var attempts []view.Attempt
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		body := func(ctx context.Context, order string) (string, error) {
			info, _ := activity.FromContext(ctx)
			switch info.Attempt {
			case 1:
				return "", unavailable{}
			case 2:
				go env.Crash()
				<-ctx.Done()
				return "", errors.New("nobody hears this")
			case 3:
				return "", retry.After(rateLimited{}, 30*time.Second)
			case 4:
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "paid", nil
		}
		env.Register(checkout, charge.Impl(body))
		if out, err := perduretest.Run(env, checkout, "order-17", "one grinder"); out != "paid" || err != nil {
			t.Fatal(out, err)
		}
		attempts = env.Workflow("order-17").Attempts()
	})
	var rows [][]string
	for _, a := range attempts {
		wait := ""
		if a.Delay > 0 {
			wait = a.Delay.String()
		}
		rows = append(rows, []string{fmt.Sprint(a.Number), a.Outcome, a.Reason, wait, a.ErrorType, a.Message})
	}
	section(t, "ledger", table([]string{"attempt", "outcome", "reason", "next after", "type", "error"}, rows))
}
