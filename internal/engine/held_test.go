package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/workflow"
)

// TestE47_AnEngineEndsAlthoughCodeIsStuck: stopped or killed while a turn is
// blocked on something that is not of package workflow. The engine ends, whoever
// waits for the start is told, and when the code comes back nothing happens.
func TestE47_AnEngineEndsAlthoughCodeIsStuck(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w *world, e *engine.Engine){
		"stopped": func(t *testing.T, _ *world, e *engine.Engine) { stop(t, e) },
		"killed":  func(_ *testing.T, w *world, e *engine.Engine) { w.kill(e) },
	} {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, w *world) {
				release := make(chan struct{})
				e := w.start(stuckOrder("1", func(string) { <-release }), reserve)
				told := make(chan error, 1)
				go func() {
					_, _, err := tryBegin(t.Context(), e, stuckOrder("1", nil), "order", 1)
					told <- err
				}()
				settle()
				end(t, w, e)
				settle()
				select {
				case err := <-told:
					if err == nil {
						t.Error("a run that is not durable was said to be started")
					}
				default:
					t.Error("who waits for the start is not told")
				}
				close(release)
				settle()
				sound := stuckOrder("1", func(string) {})
				e = w.start(sound, reserve)
				begin(t, e, sound, "order", 1)
				demandEnd(t, e, "order")
				if got, err := finish[int](t, e, "order"); got != 2 || err != nil {
					t.Errorf("a later engine: %d, %v", got, err)
				}
			})
		})
	}
}

// TestE47_ALongReplayIsNotStuck: each turn has its own time, in a replay too. A
// run whose turns together take longer than one may is replayed all the same.
func TestE47_ALongReplayIsNotStuck(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const turns, thought = 12, 3 * time.Second
		order := workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
			for range turns {
				time.Sleep(thought) //perdure:deterministic it stands for work of the code
				var err error
				if n, err = workflow.Call(wf, reserve, n); err != nil {
					return 0, err
				}
			}
			_, err := workflow.Receive(wf, proceed)
			return n, err
		})
		config := w.config(order, reserve)
		config.TurnTimeout = 2 * thought
		e := w.startWith(config)
		begin(t, e, order, "order", 0)
		pass(turns * turns * turns * thought) // evicted, each turn replays all before
		if p := onlyCall(t, e, "order"); p.Kind != "signal" {
			t.Fatalf("the run waits for %+v", p)
		}
		w.kill(e)
		e = w.startWith(config)
		signal(t, e, "order", "proceed", "", "now")
		demandEnd(t, e, "order")
		if got, err := finish[int](t, e, "order"); got != turns || err != nil {
			t.Errorf("after a long replay: %d, %v", got, err)
		}
	})
}

// TestE10_StuckRunsAreTriedAgainAfterARestart: what a run got stuck on may be gone
// when the engine starts the next time, so the same code is tried again then; not
// before, whatever the run is sent.
func TestE10_StuckRunsAreTriedAgainAfterARestart(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		release, tries := make(chan struct{}), 0
		order := stuckOrder("1", func(at string) {
			if at == "middle" {
				tries++
				<-release
			}
		})
		e := w.start(order, reserve)
		begin(t, e, order, "order", 1)
		pass(time.Minute)
		if d := describe(t, e, "order"); d.Status != "parked" || tries != 1 {
			t.Fatalf("the run is %s after %d tries", d.Status, tries)
		}
		close(release)
		settle()
		signal(t, e, "order", "proceed", "", "now")
		pass(time.Hour)
		if d := describe(t, e, "order"); d.Status != "parked" || tries != 1 {
			t.Errorf("in the same engine the run is %s after %d tries", d.Status, tries)
		}
		stop(t, e)
		e = w.start(order, reserve)
		pass(time.Second)
		if d := describe(t, e, "order"); d.Status != "completed" || tries != 2 {
			t.Errorf("after a restart the run is %s after %d tries: %s", d.Status, tries, d.Reason)
		}
	})
}

// TestE47_DeadlockParks: code that waits although nothing is open that could end
// its wait is parked, and says so; mended code goes on.
func TestE47_DeadlockParks(t *testing.T) {
	for name, wait := range map[string]func(wf *workflow.Context){
		"receive": func(wf *workflow.Context) { workflow.NewChannel[int](wf, 0).Receive(wf) },
		"send":    func(wf *workflow.Context) { workflow.NewChannel[int](wf, 0).Send(wf, 1) },
		"select":  func(wf *workflow.Context) { workflow.Select(wf, workflow.NewChannel[int](wf, 0).Receivable()) },
	} {
		for _, at := range []string{"begin", "middle"} {
			t.Run(name+" at the "+at, func(t *testing.T) {
				inBothModes(t, func(t *testing.T, w *world) {
					order := func(version string, wait func(wf *workflow.Context)) workflow.Workflow[int, int] {
						return workflow.New("order", func(wf *workflow.Context, n int) (int, error) {
							if at == "begin" {
								wait(wf)
							}
							n, err := workflow.Call(wf, reserve, n)
							wait(wf)
							return n, err
						}, workflow.Version(version))
					}
					e := w.start(order("1", wait), reserve)
					begin(t, e, order("1", wait), "order", 1)
					pass(time.Hour)
					if d := describe(t, e, "order"); d.Status != "parked" || d.Reason != core.ErrDeadlock.Error() {
						t.Errorf("the run is %s: %q", d.Status, d.Reason)
					}
					stop(t, e)
					e = w.start(order("2", func(*workflow.Context) {}), reserve)
					demandEnd(t, e, "order")
					if got, err := finish[int](t, e, "order"); got != 2 || err != nil {
						t.Errorf("with sound code: %d, %v", got, err)
					}
				})
			})
		}
	}
}
