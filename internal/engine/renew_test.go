package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/faulty"
)

// TestE83_RenewalsWithoutAnswers: a network that loses the answers of renewals, not
// the renewals, for a while: the node does not take itself for one whose place
// another process has.
func TestE83_RenewalsWithoutAnswers(t *testing.T) {
	for _, lost := range []int{1, 4, 20, 100} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			needsFencing.inAGroup(t, func(t *testing.T, w *world) {
				x := newErrands(30, time.Second)
				a := w.node("a", x.workflow, x.activity)
				for i := range 10 {
					begin(t, a, x.workflow, fmt.Sprint(i), i)
				}
				pass(time.Second)
				plan := w.plans[a]
				for k := range lost {
					plan.AtRenewal(plan.Renewals()+1+k, faulty.FailAfter)
				}
				pass(5 * time.Minute)
				w.wantShares(a, "a:16")
				if err := a.Health(); err != nil {
					t.Fatal(err)
				}
				for i := range 10 {
					if got, err := finish[int](t, a, fmt.Sprint(i)); got != i+30 || err != nil {
						t.Errorf("run %d: %d, %v", i, got, err)
					}
				}
				if plan.Renewals() < lost {
					t.Errorf("there were %d renewals", plan.Renewals())
				}
			})
		})
	}
}
