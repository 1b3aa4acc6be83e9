package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// TestF34_WhatWasShownIsWhatIsDone: between the dry run and the operation a run leaves the
// selection, others enter it, and one has another call in it: nothing is done to these.
func TestF34_WhatWasShownIsWhatIsDone(t *testing.T) {
	onDisk(t, func(t *testing.T, db store.Opener) {
		var ran atomic.Int64
		fails := activity.New("fails", func(context.Context, string) (string, error) {
			ran.Add(1)
			return "", errors.New("the bank is down")
		}, activity.Retry(retry.Policy{MaxAttempts: 50, Backoff: retry.Fixed(time.Hour)}))
		more := workflow.NewSignal[bool]("more")
		flow := workflow.New("pays", func(wf *workflow.Context, in string) (string, error) {
			workflow.Go(wf, func(wf *workflow.Context) {
				if _, err := workflow.Receive(wf, more); err == nil {
					_, _ = workflow.Call(wf, fails, in)
				}
			})
			return workflow.Call(wf, fails, in)
		})
		c, _, _ := serveOn(t, db, perdure.Register(flow, fails))
		for n := range 3 {
			c.want(201, "POST", "/api/runs", object{"workflow": "pays", "workflow_id": fmt.Sprint("old-", n), "input": "x"})
		}
		backoff := func(id string, calls int) {
			t.Helper()
			c.until("/api/runs/"+id, func(a answer) bool {
				n := 0
				for i := range count(a.Body, "pending") {
					if at(a.Body, "pending", i, "state") == "backoff" {
						n++
					}
				}
				return n == calls
			})
		}
		for n := range 3 {
			backoff(fmt.Sprint("old-", n), 1)
		}
		body := object{"operation": "retry-now", "runs": object{"workflow": "pays", "call": "backoff"}, "calls": object{"states": []string{"backoff"}}, "dry_run": true}
		dry := c.want(200, "POST", "/api/operations", body).Body
		if dry["calls"] != 3.0 || dry["selection"] == "" {
			t.Fatalf("the dry run: %v", dry)
		}
		// old-0 leaves, old-1 has one more, new-0 comes.
		c.want(200, "POST", "/api/runs/old-0/operations", object{"operation": "terminate"})
		c.want(202, "POST", "/api/runs/old-1/signals/more", object{"value": true})
		backoff("old-1", 2)
		c.want(201, "POST", "/api/runs", object{"workflow": "pays", "workflow_id": "new-0", "input": "x"})
		backoff("new-0", 1)
		was := ran.Load()
		exact := object{"operation": "retry-now", "selection": dry["selection"], "why": "the bank is up"}
		left := c.want(200, "POST", "/api/operations", object{"operation": "retry-now", "selection": dry["selection"], "dry_run": true}).Body
		if left["calls"] != 2.0 || left["gone"] != 1.0 {
			t.Errorf("what is left: %v", left)
		}
		done := c.want(200, "POST", "/api/operations", exact, "Idempotency-Key", "once").Body
		if done["runs"] != 2.0 || done["calls"] != 2.0 || done["applied"] != 2.0 || done["gone"] != 1.0 {
			t.Errorf("done: %v", done)
		}
		backoff("old-1", 2)
		backoff("old-2", 1)
		if n := ran.Load() - was; n != 2 {
			t.Errorf("%d attempts followed, want 2", n)
		}

		for what, wrong := range map[string]object{
			"damaged":           {"operation": "retry-now", "selection": dry["selection"].(string)[:40]},
			"another operation": {"operation": "pause", "selection": dry["selection"]},
			"a filter, too":     {"operation": "retry-now", "selection": dry["selection"], "runs": object{"workflow": "pays"}},
			"calls, too":        {"operation": "retry-now", "selection": dry["selection"], "calls": object{"name": "fails"}},
		} {
			if a := c.want(400, "POST", "/api/operations", wrong); a.Body["code"] != "bad-request" {
				t.Errorf("%s: %s", what, a.Raw)
			}
		}
		c.want(400, "POST", "/api/runs/old-2/operations", object{"operation": "retry-now", "selection": dry["selection"]})

		// Of some runs by their IDs, one of which does not exist and one is closed.
		some := object{"operation": "pause", "runs": object{"ids": []string{"old-1", "new-0", "old-0", "none"}}, "calls": object{"states": []string{"backoff"}}, "dry_run": true}
		dry = c.want(200, "POST", "/api/operations", some).Body
		if dry["runs"] != 2.0 || dry["calls"] != 3.0 || dry["ended"] != 1.0 || fmt.Sprint(dry["unknown"]) != "[none]" {
			t.Errorf("the dry run of those chosen: %v", dry)
		}
		done = c.want(200, "POST", "/api/operations", object{"operation": "pause", "selection": dry["selection"]}).Body
		if done["applied"] != 3.0 || done["gone"] != 0.0 {
			t.Errorf("done to those chosen: %v", done)
		}
		c.want(200, "POST", "/api/operations", object{"operation": "resume", "runs": object{"ids": []string{"old-1", "new-0"}}})
		many := make([]string, 1001)
		for i := range many {
			many[i] = fmt.Sprint("run-", i)
		}
		for what, wrong := range map[string]object{
			"none":        {"operation": "pause", "runs": object{"ids": []string{}}},
			"an empty ID": {"operation": "pause", "runs": object{"ids": []string{"old-1", ""}}},
			"a filter":    {"operation": "pause", "runs": object{"ids": []string{"old-1"}, "workflow": "pays"}},
			"a selection": {"operation": "pause", "runs": object{"ids": []string{"old-1"}}, "selection": dry["selection"]},
			"too many":    {"operation": "pause", "runs": object{"ids": many}},
		} {
			if a := c.want(400, "POST", "/api/operations", wrong); a.Body["code"] != "bad-request" {
				t.Errorf("%s: %s", what, a.Raw)
			}
		}
		backoff("old-1", 2)
		backoff("new-0", 1)

		// Of runs as a whole.
		dry = c.want(200, "POST", "/api/operations", object{"operation": "terminate", "runs": object{"prefix": "old-"}, "dry_run": true}).Body
		c.want(201, "POST", "/api/runs", object{"workflow": "pays", "workflow_id": "old-9", "input": "x"})
		done = c.want(200, "POST", "/api/operations", object{"operation": "terminate", "selection": dry["selection"]}).Body
		if done["applied"] != 2.0 || done["gone"] != 0.0 {
			t.Errorf("terminated: %v", done)
		}
		if a := c.want(200, "GET", "/api/runs/old-9", nil); a.Body["status"] != "running" {
			t.Errorf("a run that came later: %s", a.Raw)
		}
	})
}

// TestF34_WhichRunsIsSaid: an operation on many runs that does not say which is refused, so a
// client that forgets its filter does not end everything.
func TestF34_WhichRunsIsSaid(t *testing.T) {
	c, _ := serve(t, true)
	c.want(201, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": "a", "input": order{"grinder"}})
	for _, dry := range []bool{true, false} {
		for _, body := range []object{{"operation": "terminate", "dry_run": dry}, {"operation": "terminate", "dry_run": dry, "runs": nil}} {
			if p := c.want(400, "POST", "/api/operations", body).Body; !strings.Contains(fmt.Sprint(p["detail"]), "Runs or selection is missing") {
				t.Errorf("%v: %v", body, p["detail"])
			}
		}
	}
	if a := c.want(200, "GET", "/api/runs/a", nil); a.Body["status"] != "running" {
		t.Fatalf("the run is %v", a.Body["status"])
	}
	if done := c.want(200, "POST", "/api/operations", object{"operation": "terminate", "runs": object{}}).Body; done["applied"] != 1.0 {
		t.Errorf("every open run: %v", done)
	}
}

// TestF34_WhatIsNotReachedIsNotGone: when no engine answers, what of a selection was not asked
// for in time is not yet carried out, and is not told as gone.
func TestF34_WhatIsNotReachedIsNotGone(t *testing.T) {
	c, _ := serve(t, false)
	for n := range 130 {
		c.want(201, "POST", "/api/runs", object{"workflow": "checkout", "workflow_id": fmt.Sprint("r", n), "input": order{"grinder"}})
	}
	dry := c.want(200, "POST", "/api/operations", object{"operation": "terminate", "runs": object{"workflow": "checkout"}, "dry_run": true}).Body
	done := c.want(202, "POST", "/api/operations", object{"operation": "terminate", "selection": dry["selection"], "wait": "500ms"}).Body
	if dry["runs"] != 130.0 || done["unanswered"] != 130.0 || done["gone"] != 0.0 || done["applied"] != 0.0 {
		t.Errorf("the dry run %v, the operation: %v", dry["runs"], done)
	}
}
