package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// theChild is the workflow of the runs that shapes start.
var theChild = workflow.Declare[string, string]("child")

// family are the IDs of all workflows, the shape's own first.
func family(t *testing.T, env *perduretest.Env) (ids []string) {
	t.Helper()
	runs, err := env.Engine().List(t.Context(), view.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.WorkflowID != theID {
			ids = append(ids, r.WorkflowID)
		}
	}
	slices.Sort(ids)
	return append([]string{theID}, slices.Compact(ids)...)
}

// awaitFamily waits until no run is open.
func awaitFamily(t *testing.T, env *perduretest.Env) {
	t.Helper()
	for range 1000 {
		counts, err := ops.Counts(t.Context(), env.Engine(), 0)
		if err == nil && counts.Runs["running"] == 0 {
			return
		}
		time.Sleep(time.Minute)
	}
	t.Fatal("Some runs do not come to an end.")
}

// childrenAwaited waits for one child, which continues as new, and then for two at a
// time, one of which it sends a signal before that one exists.
var childrenAwaited = shape{
	name: "children-awaited",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out, err := workflow.RunChild(wf, theChild, "again", workflow.ChildID("a"))
			if err != nil {
				return "", err
			}
			b := workflow.RunChildAsync(wf, theChild, out, workflow.ChildID("b"))
			c := workflow.RunChildAsync(wf, theChild, "signaled", workflow.ChildID("c"))
			if err := workflow.Send(wf, c.ID(), poke, in); err != nil {
				return "", err
			}
			if err := workflow.WaitAll(wf, b, c); err != nil {
				return "", err
			}
			x, err := b.Get(wf)
			y, err2 := c.Get(wf)
			return x + y, errors.Join(err, err2)
		}
	},
	child: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			switch in {
			case "again":
				return workflow.ContinueAsNew(wf, theChild, "at last")
			case "signaled":
				return workflow.Receive(wf, poke)
			}
			return workflow.Call(wf, work, in)
		}
	},
	bodies: func(*book) bodies { return bodies{"work": after(time.Second)} },
}

// childRetried has a child that succeeds in its third run, and one that fails in all.
var childRetried = shape{
	name: "child-retried",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			policy := workflow.RetryPolicy(*runPolicy(3, 3*time.Second))
			out, err := workflow.RunChild(wf, theChild, "good", policy, workflow.ChildID("a"))
			if err != nil {
				return "", err
			}
			_, err = workflow.RunChild(wf, theChild, "bad", policy, workflow.ChildID("b"))
			child, _ := errors.AsType[*workflow.ChildError](err)
			if exhausted, is := errors.AsType[*retry.ExhaustedError](err); is && child != nil {
				return fmt.Sprint(out, exhausted.Attempts, child.Status, errors.Is(err, errRefused)), nil
			}
			return "", err
		}
	},
	child: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			attempt := workflow.GetInfo(wf).Attempt
			out, err := workflow.Call(wf, work, fmt.Sprint(in, attempt))
			if err == nil && (in == "bad" || attempt < 3) {
				return "", errRefused
			}
			return out, err
		}
	},
	bodies: func(*book) bodies { return bodies{"work": after(time.Second)} },
}

// childrenLeft ends, as failed, with a child for each policy and a detached one.
var childrenLeft = shape{
	name:     "children-left",
	outlived: true,
	policy:   runPolicy(2, time.Hour),
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			attempt := workflow.GetInfo(wf).Attempt
			id := func(s string) workflow.DetachedOption { return workflow.ChildID(fmt.Sprint(s, attempt)) }
			_, err := workflow.StartDetached(wf, theChild, fmt.Sprint("detached", attempt), id("d"))
			if err != nil {
				return "", err
			}
			for _, p := range []workflow.ParentClosePolicy{workflow.ParentCloseCancel, workflow.ParentCloseTerminate, workflow.ParentCloseAbandon} {
				workflow.RunChildAsync(wf, theChild, fmt.Sprint(p, attempt), id(string(p)), workflow.OnParentClose(p))
			}
			if err := workflow.Sleep(wf, 10*time.Minute); err != nil {
				return "", err
			}
			return "", errRefused
		}
	},
	child: tidyChild,
	bodies: func(*book) bodies {
		return bodies{"cleanup": after(time.Second), "work": after(time.Second)}
	},
}

// tidyChild sleeps for an hour, which the parent does not, and cleans up if it is
// canceled.
func tidyChild(*book) workflow.Func[string, string] {
	return func(wf *workflow.Context, in string) (string, error) {
		err := workflow.Sleep(wf, time.Hour)
		if err == nil {
			return workflow.Call(wf, work, in)
		}
		if _, err := workflow.Call(workflow.Shield(wf), cleanup, in); err != nil {
			return "", err
		}
		return "", err
	}
}

// childCanceled is canceled while it waits for its child, which cleans up.
var childCanceled = shape{
	name: "child-canceled",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out, err := workflow.RunChild(wf, theChild, in, workflow.ChildID("a"))
			if err != nil && errors.Is(err, context.Canceled) {
				_, undone := workflow.Call(workflow.Shield(wf), more, in)
				err = errors.Join(err, undone)
			}
			return out, err
		}
	},
	child: tidyChild,
	bodies: func(*book) bodies {
		return bodies{"cleanup": after(time.Second), "more": after(time.Second)}
	},
	meddle: func(t *testing.T, env *perduretest.Env) {
		time.Sleep(10 * time.Minute)
		if err := env.Workflow(theID).Cancel("enough"); err != nil {
			t.Error(err)
		}
	},
}

// childIDInUse starts children under the ID of another one: while that is open, and when
// it has ended and must not be followed.
var childIDInUse = shape{
	name: "child-id-in-use",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			first := workflow.RunChildAsync(wf, theChild, in, workflow.ChildID("a"))
			_, err := workflow.StartDetached(wf, theChild, in, workflow.ChildID("a"))
			used, _ := errors.AsType[*workflow.ChildIDInUseError](err)
			out, err2 := first.Get(wf)
			_, err = workflow.RunChild(wf, theChild, in, workflow.ChildID("a"), workflow.ChildReuse(workflow.ReuseNever))
			again, _ := errors.AsType[*workflow.ChildIDInUseError](err)
			if used == nil || again == nil || again.RunID != used.RunID {
				return "", fmt.Errorf("%w, %w", err, err2)
			}
			return out + used.Status + again.Status, err2
		}
	},
	child:  childThatWorks,
	bodies: func(*book) bodies { return bodies{"work": after(time.Minute)} },
}

// childIDAgain starts a child under the ID of another one that has ended.
var childIDAgain = shape{
	name: "child-id-again",
	flow: func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			first, err := workflow.RunChild(wf, theChild, in, workflow.ChildID("a"))
			second, err2 := workflow.RunChild(wf, theChild, in+" again", workflow.ChildID("a"))
			return first + second, errors.Join(err, err2)
		}
	},
	child:  childThatWorks,
	bodies: func(*book) bodies { return bodies{"work": after(time.Minute)} },
}

func childThatWorks(*book) workflow.Func[string, string] {
	return func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, work, in) }
}
