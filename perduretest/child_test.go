package perduretest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

// shipping is a workflow of somebody else: tests of its parent give it other code.
var shipping = workflow.Declare[string, time.Time]("shipping")

// sell ships an order and gives it up after a week.
var sell = workflow.New("sell", func(wf *workflow.Context, id string) (string, error) {
	shipped := workflow.RunChildAsync(wf, shipping, id, workflow.ChildID(id+"/shipping"))
	if workflow.Select(wf, shipped, workflow.NewTimer(wf, 7*24*time.Hour)) == 1 {
		return "given up", nil
	}
	at, err := shipped.Get(wf)
	return at.UTC().Format(time.DateOnly), err
})

// A child is registered as any workflow is, so a test can put another one in its
// place.
func TestExampleChild(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		canceled := false
		env.Register(sell, shipping.Impl(func(wf *workflow.Context, id string) (time.Time, error) {
			days := time.Duration(3)
			if id == "slow" {
				days = 30
			}
			err := workflow.Sleep(wf, days*24*time.Hour)
			canceled = canceled || err != nil //perdure:deterministic the test looks at it
			return workflow.Now(wf), err
		}))
		if got, err := perduretest.Run(env, sell, "order-1", "fast"); got != "2000-01-04" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if got, err := perduretest.Run(env, sell, "order-2", "slow"); got != "given up" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		time.Sleep(time.Second)
		if d := env.Workflow("slow/shipping").Describe(); !canceled || d.Status != "canceled" || d.Parent.WorkflowID != "order-2" {
			t.Errorf("the child that was given up is %s, of %+v", d.Status, d.Parent)
		}
	})
}

// Wherever the process dies, there is one child, and its parent hears of it once.
func TestExampleChildThroughCrashes(t *testing.T) {
	perduretest.EveryWrite(t, perduretest.CrashAfter, func(t *testing.T, env *perduretest.Env) {
		env.Register(sell, shipping.Impl(func(wf *workflow.Context, _ string) (time.Time, error) {
			return time.Time{}, errors.Join(workflow.Sleep(wf, time.Hour), errDamaged)
		}))
		_, err := perduretest.Run(env, sell, "order-1", "in")
		if child, is := errors.AsType[*workflow.ChildError](err); !is || child.WorkflowID != "in/shipping" || child.Status != "failed" {
			t.Errorf("it ended with %v", err)
		}
	})
}

var errDamaged = errors.New("damaged")
