package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	when "github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/workflow"
)

type tenantKey struct{}

func withTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// carriesTenant hands the tenant of the caller's context to the contexts of attempts.
var carriesTenant = intercept.New("tenant", func(ctx context.Context, op *intercept.Op, next intercept.Next) error {
	switch op.Kind {
	case intercept.Start, intercept.Schedule:
		op.Headers["tenant"], _ = ctx.Value(tenantKey{}).(string)
	case intercept.Attempt:
		ctx = withTenant(ctx, op.Headers["tenant"])
	}
	return next(ctx)
}, intercept.Start, intercept.Schedule, intercept.Attempt)

// seenBy is what attempts found in their contexts, in order.
type seenBy struct {
	mu  sync.Mutex
	all []string
}

func (s *seenBy) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, fmt.Sprintf(format, args...))
}

func (s *seenBy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// look notes the tenant of an attempt, by its context and by its info.
func (s *seenBy) look() activity.Activity[int, int] {
	return activity.New("look", func(ctx context.Context, n int) (int, error) {
		info, _ := activity.FromContext(ctx)
		s.add("%s.%d %v %s %s", info.Workflow, info.Attempt, ctx.Value(tenantKey{}), info.Headers["tenant"], info.Trace)
		if info.Attempt == 1 {
			return 0, errors.New("again")
		}
		return n, nil
	}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Hour)}))
}

// TestE110_HeadersAreCarried: what an interceptor makes of the caller's context reaches
// all attempts of the run, of its children and of the runs that follow it, after a crash
// too.
func TestE110_HeadersAreCarried(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var seen seenBy
		look := seen.look()
		child := workflow.New("child", func(wf *workflow.Context, n int) (int, error) {
			return workflow.Call(wf, look, n)
		})
		var parent workflow.Workflow[int, int]
		decl := workflow.Declare[int, int]("parent")
		parent = decl.Impl(func(wf *workflow.Context, n int) (int, error) {
			if _, err := workflow.Call(wf, look, n); err != nil {
				return 0, err
			}
			if n == 1 {
				return workflow.ContinueAsNew(wf, decl, 2)
			}
			if n == 2 && workflow.GetInfo(wf).Attempt == 1 {
				return 0, errors.New("the run is retried")
			}
			return workflow.RunChild(wf, child, n, workflow.Headers(map[string]string{"more": "x"}))
		})
		config := w.config(parent, child, look)
		config.Interceptors = []intercept.Interceptor{carriesTenant}
		e := w.startWith(config)
		input, _ := history.Encode(1)
		req := request.Start{WorkflowID: "p", Type: "parent", Input: input, Trace: "00-trace", Settings: history.Settings{Retry: &retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Hour)}}}
		if _, _, err := e.StartRun(withTenant(t.Context(), "acme"), req); err != nil {
			t.Fatal(err)
		}
		settle()
		w.kill(e) // between the attempts
		config.Store = w.db
		e = w.startWith(config)
		if _, err := finish[int](t, e, "p"); err != nil {
			t.Fatal(err)
		}
		got := seen.take()
		want := []string{}
		for _, of := range []string{"parent", "parent", "parent", "child"} {
			for k := range 2 {
				want = append(want, fmt.Sprintf("%s.%d acme acme 00-trace", of, k+1))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the attempts saw\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, event := range eventsOf(t, e, "p") {
			if c := event.Child; c != nil && event.Kind == history.ChildScheduled && !maps.Equal(c.Headers, map[string]string{"more": "x"}) {
				t.Errorf("the child differs from its parent in %v", c.Headers)
			}
		}
	})
}

// TestE110_HeadersOfSchedules: the runs of a schedule have the headers with which it was
// made.
func TestE110_HeadersOfSchedules(t *testing.T) {
	extent.NotInShort(t, "many days")
	inBothModes(t, func(t *testing.T, w *world) {
		var seen seenBy
		look := seen.look()
		chore := workflow.New("chore", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, look, n) })
		config := w.config(chore, look)
		config.Interceptors = []intercept.Interceptor{carriesTenant}
		e := w.startWith(config)
		input, _ := history.Encode(1)
		err := e.SetSchedule(withTenant(t.Context(), "acme"), "daily", when.Spec{Every: 24 * time.Hour}, request.Start{Type: "chore", Input: input})
		if err != nil {
			t.Fatal(err)
		}
		pass(26 * time.Hour)
		if got := seen.take(); !slices.Equal(got, []string{"chore.1 acme acme ", "chore.2 acme acme "}) {
			t.Errorf("the attempts saw %q", got)
		}
	})
}

// everyKind notes all operations.
func (s *seenBy) everyKind() intercept.Interceptor {
	return intercept.New("all", func(ctx context.Context, op *intercept.Op, next intercept.Next) error {
		s.add("%s %s", op.Kind, op.Name)
		return next(ctx)
	})
}

// TestE111_InterceptorsAndReplay: what workflow code does is shown to interceptors once,
// however often the code is replayed, and fits its history without them and with others.
func TestE111_InterceptorsAndReplay(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var seen seenBy
		double := activity.New("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		child := workflow.New("kid", func(_ *workflow.Context, n int) (int, error) { return n, nil })
		wf := workflow.New("all", func(wf *workflow.Context, n int) (int, error) {
			n, _ = workflow.Call(wf, double, n)
			n, _ = workflow.Do(wf, "inc", func(context.Context) (int, error) { return n + 1, nil })
			_ = workflow.Sleep(wf, time.Hour)
			n, _ = workflow.RunChild(wf, child, n)
			_ = workflow.Send(wf, "nobody", workflow.NewSignal[int]("hello"), n)
			more, err := workflow.Receive(wf, workflow.NewSignal[int]("more"))
			return n + more, err
		})
		config := w.config(wf, child, double)
		changes := intercept.New("changes", func(ctx context.Context, op *intercept.Op, next intercept.Next) error {
			op.Headers["from"] = "the first"
			return next(ctx)
		}, intercept.Child)
		config.Interceptors = []intercept.Interceptor{seen.everyKind(), changes}
		e := w.startWith(config)
		begin(t, e, wf, "id", 1)
		pass(2 * time.Hour)
		want := []string{"start all", "workflow start all", "call double", "attempt double", "step inc", "attempt inc", "timer sleep", "child kid", "workflow start kid", "workflow end kid", "send hello", "receive more"}
		if got := seen.take(); !slices.Equal(got, want) {
			t.Errorf("the interceptors saw\n%q, want\n%q", got, want)
		}
		w.kill(e)
		config.Store, config.Interceptors = w.db, config.Interceptors[:1] // the history keeps what changes did
		e = w.startWith(config)
		signal(t, e, "id", "more", "", 10)
		if n, err := finish[int](t, e, "id"); n != 13 || err != nil {
			t.Errorf("%d, %v; want 13", n, err)
		}
		if got := seen.take(); !slices.Equal(got, []string{"signal more", "workflow end all"}) {
			t.Errorf("after a replay the interceptors saw %q", got)
		}
	})
}

// TestE111_ErrorsAreReplaced: an error that says too much is replaced before it is on
// record, of attempts and of runs, and the replay of such a run does not park.
func TestE111_ErrorsAreReplaced(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		secret := errors.New("card 4111 1111 is refused")
		charge := activity.New("charge", func(context.Context, int) (int, error) { return 0, secret }, activity.Retry(retry.Policy{MaxAttempts: 1}))
		answers := workflow.NewQuery[int, int]("still")
		wf := workflow.New("pay", func(wf *workflow.Context, n int) (int, error) {
			workflow.HandleQuery(wf, answers, func(n int) (int, error) { return n, nil })
			if n == 1 {
				return workflow.Call(wf, charge, n)
			}
			return 0, secret
		})
		redact := intercept.New("redact", func(ctx context.Context, op *intercept.Op, next intercept.Next) error {
			if err := next(ctx); err != nil {
				return errors.New("card [redacted]")
			}
			return nil
		}, intercept.Attempt, intercept.WorkflowEnd)
		config := w.config(wf, charge)
		config.Interceptors = []intercept.Interceptor{redact}
		e := w.startWith(config)
		for n, id := range []string{"of the run", "of an attempt"} {
			begin(t, e, wf, id, n)
			settle()
			d := describe(t, e, id)
			if text := fmt.Sprint(d.Failure); d.Status != "failed" || strings.Contains(text, "4111") || !strings.Contains(text, "[redacted]") {
				t.Errorf("%s: %s, %s", id, d.Status, text)
			}
			question, _ := history.Encode(1)
			if _, err := e.Query(t.Context(), id, "", "still", question); err != nil {
				t.Errorf("%s: its code does not fit any more: %v", id, err)
			}
		}
		if w.log.count("4111") > 0 {
			t.Error("the log has the number")
		}
	})
}

// TestE112_FaultsOfInterceptors: a panic of an interceptor, and what it must not do, is an
// error with its name: of the attempt, of the verb, or it parks the run. What it stands
// around keeps its own panics.
func TestE112_FaultsOfInterceptors(t *testing.T) {
	act := activity.New("act", func(_ context.Context, n int) (int, error) {
		if n == 13 {
			panic("the body")
		}
		return n, nil
	}, activity.Retry(retry.Policy{MaxAttempts: 1}))
	wf := workflow.New("w", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, act, n) })
	type next = intercept.Next
	for name, c := range map[string]struct {
		kind intercept.Kind
		do   func(ctx context.Context, op *intercept.Op, next next) error
		n    int
		want string // of the start, the failure or the reason why it is parked
	}{
		"panics around a start":    {intercept.Start, func(context.Context, *intercept.Op, next) error { panic("oh") }, 1, `interceptor "bad" around start "w" panicked: panic: oh`},
		"refuses a start":          {intercept.Start, func(context.Context, *intercept.Op, next) error { return errors.New("not you") }, 1, "not you"},
		"bad header":               {intercept.Start, func(ctx context.Context, op *intercept.Op, do next) error { op.Headers["Tenant"] = "x"; return do(ctx) }, 1, `header name "Tenant" has other characters`},
		"panics around an attempt": {intercept.Attempt, func(context.Context, *intercept.Op, next) error { panic("oh") }, 1, `interceptor "bad" around attempt "act" panicked: panic: oh`},
		"panics after an attempt":  {intercept.Attempt, func(ctx context.Context, _ *intercept.Op, do next) error { _ = do(ctx); panic("oh") }, 1, `interceptor "bad" around attempt "act" panicked: panic: oh`},
		"the body panics":          {intercept.Attempt, func(ctx context.Context, _ *intercept.Op, do next) error { return do(ctx) }, 13, "panic: the body"},
		"forgets next":             {intercept.Attempt, func(context.Context, *intercept.Op, next) error { return nil }, 1, "returned nil without calling next"},
		"calls next twice": {intercept.Attempt, func(ctx context.Context, _ *intercept.Op, do next) error {
			_ = do(ctx)
			return do(ctx)
		}, 1, "called next twice"},
		"sets a header in an attempt": {intercept.Attempt, func(ctx context.Context, op *intercept.Op, do next) error {
			op.Headers = map[string]string{"a": "b"}
			return do(ctx)
		}, 1, "headers that an interceptor has set around attempt are not carried there"},
		"panics in a call": {intercept.Call, func(context.Context, *intercept.Op, next) error { panic("oh") }, 1, `interceptor "bad" around call "act" panicked: panic: oh`},
		"refuses a call":   {intercept.Call, func(context.Context, *intercept.Op, next) error { return errors.New("not now") }, 1, "not now"},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere[1].run(t, 1, func(t *testing.T, w *world) {
				config := w.config(wf, act)
				config.Interceptors = []intercept.Interceptor{intercept.New("bad", c.do, c.kind)}
				e := w.startWith(config)
				_, _, err := tryBegin(t.Context(), e, wf, "id", c.n)
				got := fmt.Sprint(err)
				if err == nil {
					settle()
					d := describe(t, e, "id")
					got = fmt.Sprint(d.Failure, d.Reason)
					if parked := d.Status == "parked"; parked != (c.kind == intercept.Call) {
						t.Errorf("the run is %s", d.Status)
					}
				}
				if !strings.Contains(got, c.want) {
					t.Errorf("the error is %q, want %q", got, c.want)
				}
				if name == "the body panics" && strings.Contains(got, "bad") {
					t.Errorf("the panic of the body is told of the interceptor: %s", got)
				}
			})
		})
	}
}

// TestE112_InterceptorsAreChecked: an engine refuses interceptors that could not be named
// or called.
func TestE112_InterceptorsAreChecked(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Interceptors = []intercept.Interceptor{{}, intercept.New("x", nil), intercept.New("y", func(context.Context, *intercept.Op, intercept.Next) error { return nil }, 99)}
	_, err := engine.Open(t.Context(), config)
	for _, want := range []string{"interceptor 1 has no name", `interceptor "x" has no function`, `interceptor "y" is for kind 99, which does not exist`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
