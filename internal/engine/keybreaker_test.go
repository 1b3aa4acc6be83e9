package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// logins are those of tenants at a provider. The password of some is wrong.
type logins struct {
	mu    sync.Mutex
	wrong map[string]bool
	asked map[string]int

	fetch workflow.Workflow[string, int]
	load  activity.Activity[string, int]
}

func newLogins(door *gate.Gate, wrong ...string) *logins {
	a := &logins{wrong: map[string]bool{}, asked: map[string]int{}}
	for _, who := range wrong {
		a.wrong[who] = true
	}
	a.load = activity.New("load", func(_ context.Context, who string) (int, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.asked[who]++; a.wrong[who] {
			return 0, errUnlucky
		}
		return 1, nil
	}, activity.Through(door))
	a.fetch = workflow.New("fetch", func(wf *workflow.Context, who string) (int, error) { return workflow.Call(wf, a.load, who) })
	return a
}

func (a *logins) start(t *testing.T, e *engine.Engine, who string, n int) {
	t.Helper()
	input, _ := history.Encode(who)
	if _, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: fmt.Sprint(who, n), Type: a.fetch.Name(), Input: input, Settings: history.Settings{Key: who}}); err != nil {
		t.Fatal(err)
	}
}

func (a *logins) tried(who string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[who]
}

func (a *logins) mend() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.wrong)
}

// TestT3_OneTenantsCredentialsFail: the breaker opens for him alone and stays so when the process is
// killed, the others go on, everything says whose breaker it is, and it is probed and closed by itself.
func TestT3_OneTenantsCredentialsFail(t *testing.T) {
	needsFencing.inBothModes(t, func(t *testing.T, w *world) {
		door := gate.New("provider", 3, gate.WithBreaker(gate.Breaker{Failures: 3, Cooldown: time.Hour, Wait: true, PerKey: true}))
		a := newLogins(door, "ann", "carl")
		e := w.start(a.fetch, a.load)
		for n := range 5 {
			a.start(t, e, "ann", n)
			a.start(t, e, "bob", n)
		}
		pass(time.Minute)
		for n := range 5 {
			if _, err := finish[int](t, e, fmt.Sprint("bob", n)); err != nil {
				t.Error(err)
			}
		}
		tried := a.tried("ann")
		if tried < 3 || tried > 5 { // those that ran together when it opened
			t.Errorf("ann was tried %d times", tried)
		}
		if n, others := w.log.count("event=breaker_opened gate=provider key=ann"), w.log.count("event=breaker_"); n != 1 || others != 1 {
			t.Errorf("the log says %d times that ann's breaker opened, and %d times something of breakers", n, others)
		}

		w.kill(e)
		e = w.start(a.fetch, a.load)
		a.start(t, e, "bob", 6)
		a.start(t, e, "ann", 6)
		pass(time.Minute)
		if _, err := finish[int](t, e, "bob6"); err != nil || a.tried("ann") != tried {
			t.Errorf("after the restart: bob %v, ann was tried %d times, before %d", err, a.tried("ann"), tried)
		}
		saysWhose(t, e)

		pass(time.Hour) // its probe
		if got := a.tried("ann"); got != tried+1 {
			t.Errorf("after the cooldown ann was tried %d times, before %d", got, tried)
		}
		for n := range 3 {
			a.start(t, e, "carl", n)
		}
		pass(time.Minute)
		if gates, err := e.Gates(t.Context()); err != nil || gates[0].OpenKeys != 2 {
			t.Errorf("the gates are %+v, %v", gates, err)
		}
		a.mend()
		for _, r := range []struct{ key, want string }{{"bob", view.Unchanged}, {"ann", view.Applied}} {
			change, err := e.ResetGate(t.Context(), "provider", view.GateReset{Breaker: true, Key: r.key}, false, request.By{})
			if err != nil || change.Outcome != r.want {
				t.Errorf("reset of %s: %+v, %v", r.key, change, err)
			}
		}
		if _, err := e.ResetGate(t.Context(), "provider", view.GateReset{Budget: true, Key: "ann"}, false, request.By{}); err != nil {
			t.Error(err)
		}
		for _, n := range []int{0, 1, 2, 3, 4, 6} {
			if _, err := finish[int](t, e, fmt.Sprint("ann", n)); err != nil {
				t.Error(err)
			}
		}
		if gates, err := e.Gates(t.Context()); err != nil || gates[0].OpenKeys != 1 || gates[0].Keys[0].Key != "carl" {
			t.Errorf("when ann's is closed the gates are %+v, %v", gates, err)
		}
		if change, err := e.ProbeGate(t.Context(), "provider", "carl", false, request.By{}); err != nil || change.Outcome != view.Applied {
			t.Errorf("probe of carl: %+v, %v", change, err)
		}
		for n := range 3 {
			if _, err := finish[int](t, e, fmt.Sprint("carl", n)); err != nil {
				t.Error(err)
			}
		}
	})
}

// saysWhose checks that everything that says why ann0 waits says whose breaker is open, and until when.
func saysWhose(t *testing.T, e *engine.Engine) {
	t.Helper()
	d, err := e.Describe(t.Context(), "ann0", "")
	if err != nil {
		t.Fatal(err)
	}
	wait := d.Pending[0].Gate
	if wait == nil || wait.Key != "ann" || wait.OpenUntil == nil {
		t.Fatalf("the call waits so: %+v", wait)
	}
	until := wait.OpenUntil.UTC().Format(time.RFC3339)
	if why, err := e.Why(t.Context(), "ann0", ""); err != nil || !strings.Contains(why, "waits at gate provider, whose circuit breaker for key ann is open until "+until+", after a") {
		t.Errorf("why: %s, %v", why, err)
	}
	s, err := e.Status(t.Context())
	if err != nil || len(s.Waiting) != 1 || s.Waiting[0].For != view.WaitBreaker || s.Waiting[0].Key != "ann" || s.Waiting[0].Keys != 1 || s.Waiting[0].Count != 6 {
		t.Errorf("the status says %+v, %v", s.Waiting, err)
	}
	open, ofKeys, err := e.Breakers(t.Context())
	same(t, "breakers", fmt.Sprint(open, ofKeys, err), "map[] map[provider:1] <nil>")
	gates, err := e.Gates(t.Context())
	if err != nil || gates[0].Breaker != "closed" || gates[0].OpenKeys != 1 {
		t.Fatalf("the gate is %+v, %v", gates, err)
	}
	if k := gates[0].Keys[0]; k.Key != "ann" || k.Breaker != "open" || k.OpenUntil == nil || k.Waiting != 6 {
		t.Errorf("the key is %+v", k)
	}
}
