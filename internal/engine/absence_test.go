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
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// absentee is what runs do around a time of two minutes, at which something comes due for each.
// What is asked of them is asked after one minute.
type absentee struct {
	*desk
	definitions []any
	mu          sync.Mutex
	ran         map[string]int // attempts by run
}

func (a *absentee) runs(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ran[id]++
	return a.ran[id]
}

func newAbsentee() *absentee {
	a := &absentee{desk: newDesk(retry.Policy{AttemptTimeout: time.Hour}), ran: map[string]int{}}
	work := activity.New("work", func(_ context.Context, id string) (string, error) {
		if a.runs(id) > 1 {
			return "again", nil
		}
		return "", errors.New("down")
	}, activity.Retry(retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(2 * time.Minute), Jitter: retry.NoJitter}))
	a.definitions = []any{
		work, a.flow, a.activity,
		workflow.New("delayed", func(wf *workflow.Context, id string) (string, error) {
			return workflow.Call(wf, work, id)
		}),
		workflow.New("failing", func(wf *workflow.Context, id string) (string, error) { return workflow.Call(wf, work, id) }),
		workflow.New("racing", func(wf *workflow.Context, _ string) (string, error) {
			timer, word := workflow.NewTimer(wf, 2*time.Minute), workflow.ReceiveAsync(wf, proceed)
			return fmt.Sprint("case ", workflow.Select(wf, timer, word)), nil
		}),
		workflow.New("bounded", func(wf *workflow.Context, _ string) (string, error) {
			return workflow.Timeout(wf, 2*time.Minute, func(wf *workflow.Context) (string, error) {
				_, err := workflow.Receive(wf, proceed)
				return "heard", err
			})
		}),
		workflow.New("timers", func(wf *workflow.Context, _ string) (string, error) {
			late, early := workflow.NewTimer(wf, 2*time.Minute), workflow.NewTimer(wf, 90*time.Second)
			return fmt.Sprint("case ", workflow.Select(wf, late, early)), nil
		}),
	}
	return a
}

// begin starts a run of each kind.
func (a *absentee) begin(t *testing.T, e *engine.Engine) {
	t.Helper()
	for id, s := range map[string]request.Start{
		"delayed-terminated": {Type: "delayed", Delay: 2 * time.Minute},
		"delayed-canceled":   {Type: "delayed", Delay: 2 * time.Minute},
		"failing-terminated": {Type: "failing"},
		"failing-canceled":   {Type: "failing"},
		"racing":             {Type: "racing"},
		"bounded":            {Type: "bounded"},
		"bounded-canceled":   {Type: "bounded"},
		"timers":             {Type: "timers"},
		"run-timeout":        {Type: "flow", Settings: history.Settings{RunTimeout: 2 * time.Minute}},
	} {
		s.WorkflowID = id
		var err error
		if s.Input, err = history.Encode(id); s.Type == "flow" {
			s.Type = a.flow.Name()
			s.Input, err = history.Encode(1)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.StartRun(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// ask asks for what each of them is about.
func (a *absentee) ask(t *testing.T, client *engine.Engine) {
	t.Helper()
	by := request.By{Why: "enough"}
	err := errors.Join(
		client.Terminate(t.Context(), "delayed-terminated", "", by),
		client.Cancel(t.Context(), "delayed-canceled", "", by),
		client.Terminate(t.Context(), "failing-terminated", "", by),
		client.Cancel(t.Context(), "failing-canceled", "", by),
		client.Signal(t.Context(), "racing", "proceed", "", history.Payload{}),
		client.Signal(t.Context(), "bounded", "proceed", "", history.Payload{}),
		client.Cancel(t.Context(), "bounded-canceled", "", by),
		say(t, client, a.token(t, "run-timeout", 1), "in time"),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// ended returns how they ended, and how many attempts they had.
func (a *absentee) ended(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var all []string
	for _, id := range []string{"delayed-terminated", "delayed-canceled", "failing-terminated", "failing-canceled", "racing", "bounded", "bounded-canceled", "timers", "run-timeout"} {
		got, err := finish[string](t, e, id)
		all = append(all, fmt.Sprintf("%s: %q %v", id, got, err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(a.ran)) {
		all = append(all, fmt.Sprintf("%s ran %d times", id, a.ran[id]))
	}
	return strings.Join(all, "\n")
}

// TestE9_E45_WhatWasAskedBeforeATimeComesBeforeIt: what was acknowledged has its moment, and
// what comes due later is later, also if no process serves the runs until both have passed.
// The oracle is the engine that served all the time. One that comes back to more than it can take at
// once reads of its inbox what the runs need that it takes first.
func TestE9_E45_WhatWasAskedBeforeATimeComesBeforeIt(t *testing.T) {
	needsClocks.inBothModes(t, func(t *testing.T, w *world) {
		play := func(away bool, atWork, page int) string {
			w.anew()
			a := newAbsentee()
			e := w.start(a.definitions...)
			a.begin(t, e)
			pass(30 * time.Second)
			client := e
			if away {
				stop(t, e)
				client = w.open(w.config())
			}
			pass(30 * time.Second)
			a.ask(t, client)
			pass(4 * time.Minute)
			if away {
				c := w.config(a.definitions...)
				c.MaxAtWork, c.InboxPage = atWork, page
				e = w.startWith(c)
			}
			got := a.ended(t, e)
			stop(t, e)
			return got
		}
		want := play(false, 0, 0)
		for _, c := range [][2]int{{0, 0}, {1, 1}, {3, 1}, {4, 2}} {
			if got := play(true, c[0], c[1]); got != want {
				t.Errorf("after an absence they end so with %d at work and pages of %d:\n%s\nand else so:\n%s", c[0], c[1], got, want)
			}
		}
	})
}

// slowInbox is a store that takes its time to read the inbox.
type slowInbox struct{ store.Opener }

type slowInboxStore struct{ store.Store }

func (s slowInbox) Open(ctx context.Context) (store.Store, error) {
	db, err := s.Opener.Open(ctx)
	return slowInboxStore{db}, err
}

func (s slowInboxStore) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Store.Inbox(ctx, partitions, read)
}

// TestE9_E45_ATakeoverHearsBeforeItActs: a node that takes over runs reads what was asked of
// them before it lets come due what waits.
func TestE9_E45_ATakeoverHearsBeforeItActs(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var ran []string
		delayed := workflow.New("delayed", func(_ *workflow.Context, id string) (string, error) {
			mu.Lock()         //perdure:deterministic the test looks at what ran, of seven runs at once
			defer mu.Unlock() //perdure:deterministic see above
			ran = append(ran, id)
			return "ran", nil
		})
		w.db = slowInbox{w.db}
		a := w.start(delayed)
		var ids []string
		for i := range 7 {
			id := fmt.Sprint("run-", i)
			ids = append(ids, id)
			input, _ := history.Encode(id)
			if _, _, err := a.StartRun(t.Context(), request.Start{WorkflowID: id, Type: "delayed", Input: input, Delay: 2 * time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		settle()
		w.kill(a)
		b := w.start(delayed) // it has nothing until the lease of the other ends
		for _, id := range ids {
			if err := b.Cancel(t.Context(), id, "", request.By{Why: "enough"}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		for _, id := range ids {
			if _, err := finish[string](t, b, id); err == nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%s ended with %v", id, err)
			}
		}
		if len(ran) > 0 {
			t.Errorf("the code of %q ran", ran)
		}
	})
}

// TestI7_AWorkerBeginsNothingAfterItsTime: an attempt in a queue that has waited too long does
// not begin, also if no process serves its run then.
func TestI7_AWorkerBeginsNothingAfterItsTime(t *testing.T) {
	inAGroup(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second, activity.Retry(retry.Policy{MaxAttempts: 1, QueueTimeout: time.Minute}))
		owner := w.owner(x.flow, x.activity)
		begin(t, owner, x.flow, "late", 1)
		settle()
		stop(t, owner)
		pass(2 * time.Minute)
		w.worker("c", "gpu", 1, x.activity)
		pass(2 * time.Minute)
		if x.runs > 0 {
			t.Errorf("%d attempts began after their time", x.runs)
		}
		owner = w.owner(x.flow, x.activity)
		if _, err := finish[string](t, owner, "late"); err == nil || !strings.Contains(err.Error(), "did not start within 1m") {
			t.Errorf("the run ended with %v", err)
		}
		begin(t, owner, x.flow, "in time", 1)
		if _, err := finish[string](t, owner, "in time"); err != nil || x.runs != 1 {
			t.Errorf("%v after %d attempts", err, x.runs)
		}
	})
}
