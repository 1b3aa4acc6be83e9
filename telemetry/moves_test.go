package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// world is one engine after the other on one database, whose store fails as planned, all
// counted by one Metrics.
type world struct {
	t       *testing.T
	plan    *faulty.Plan
	db      store.Opener
	metrics *telemetry.Metrics
	eng     *perdure.Engine
	page    http.Handler
	release chan struct{} // ends what blocks
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, db: memory.New(), metrics: telemetry.New(), release: make(chan struct{})}
	w.live()
	t.Cleanup(func() { close(w.release); _ = w.eng.Close() })
	return w
}

// live opens and starts an engine of the world.
func (w *world) live(options ...perdure.Option) {
	w.t.Helper()
	w.plan = faulty.NewPlan()
	w.eng = open(w.t, faulty.Wrap(w.db, w.plan), append(options, w.metrics.Engine(), perdure.TurnTimeout(time.Second))...)
	w.page = w.metrics.Handler(w.eng)
	if err := w.eng.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// again ends the engine and begins another one's life, as a process that restarts.
func (w *world) again(options ...perdure.Option) {
	w.t.Helper()
	if err := w.eng.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.live(options...)
}

// dies kills the process, and another one takes its runs over.
func (w *world) dies(options ...perdure.Option) {
	w.t.Helper()
	w.plan.Crash()
	if err := w.plan.Reap(); err != nil {
		w.t.Fatal(err)
	}
	_ = w.eng.Close() // what a dead process thinks
	w.live(options...)
	time.Sleep(time.Minute)
}

// call starts n runs that call an activity, and gives them a second.
func (w *world) call(a activity.Activity[int, int], n int, options ...perdure.Option) perdure.Option {
	w.t.Helper()
	flow := workflow.New("flow", func(wf *workflow.Context, _ int) (int, error) { return workflow.Call(wf, a, 0) })
	code := perdure.Register(a, flow)
	w.again(append(options, code)...)
	w.start(flow, n)
	return code
}

func (w *world) start(flow workflow.Workflow[int, int], n int) {
	w.t.Helper()
	for i := range n {
		if _, err := perdure.Start(w.t.Context(), w.eng, flow, flow.Name()+string(rune('a'+i)), 0); err != nil {
			w.t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
}

// blocks is an activity that runs until the world ends.
func (w *world) blocks(options ...activity.Option) activity.Activity[int, int] {
	return activity.New("charge", func(ctx context.Context, _ int) (int, error) {
		select {
		case <-w.release:
		case <-ctx.Done():
		}
		return 0, ctx.Err()
	}, options...)
}

// fails is an activity of which so many attempts fail.
func fails(n int, options ...activity.Option) activity.Activity[int, int] {
	return activity.New("charge", func(ctx context.Context, _ int) (int, error) {
		if info, _ := activity.FromContext(ctx); info.Attempt <= n {
			return 0, errors.New("refused")
		}
		return 0, nil
	}, append(options, activity.Retry(steady))...)
}

// What happens to a world.
func recovers(w *world)       { w.call(fails(2), 1); time.Sleep(2 * time.Minute) }
func givesUp(w *world)        { w.call(fails(9), 1); time.Sleep(2 * time.Minute) }
func runs(w *world)           { w.call(w.blocks(), 1) }
func closes(w *world)         { _ = w.eng.Close() }
func databaseLeaves(w *world) { w.plan.Outage(true); time.Sleep(20 * time.Second) }

func loses(w *world) { w.dies(w.call(w.blocks(), 1)) }

func quarantines(w *world) {
	w.dies(w.call(w.blocks(activity.Retry(retry.Policy{CrashLimit: 1})), 1))
}

// asks is an activity whose attempts may have had their effect, and what is found out about that.
func asks(found func() (activity.Found[int], error)) activity.Activity[int, int] {
	return fails(1, activity.VerifyRetry(retry.Policy{MaxAttempts: 2}), activity.Verify(func(context.Context, int, activity.Doubt) (activity.Found[int], error) { return found() }))
}

func doubts(w *world) {
	w.call(unknown(asks(func() (activity.Found[int], error) { return activity.Found[int]{}, errors.New("closed") })), 1)
	time.Sleep(time.Minute)
}

func finds(w *world) {
	w.call(unknown(asks(func() (activity.Found[int], error) { return retry.Done(1), nil })), 1)
	time.Sleep(time.Minute)
}

// unknown is an activity whose attempts all may have had their effect.
func unknown(a activity.Activity[int, int]) activity.Activity[int, int] {
	return a.Impl(func(context.Context, int) (int, error) { return 0, retry.Unknown(errors.New("broken")) })
}

// movesAway lets a node of other code join, whose share of the runs moves back to the first.
func movesAway(w *world) {
	first := workflow.New("flow", func(wf *workflow.Context, _ int) (int, error) {
		return 0, errors.Join(workflow.Sleep(wf, time.Minute), workflow.Sleep(wf, time.Hour))
	}, workflow.Version("1"))
	second := workflow.New("flow", func(wf *workflow.Context, _ int) (int, error) {
		_, err := workflow.Do(wf, "other", func(context.Context) (int, error) { return 0, nil })
		return 0, err
	}, workflow.Version("2"))
	w.db = memory.New(memory.Partitions(8))
	w.again(perdure.Register(first), perdure.NodeName("one"))
	w.start(first, 24)
	other := open(w.t, w.db, perdure.Register(second), perdure.NodeName("two"))
	if err := other.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(2 * time.Minute)
}

func queuesAtGate(w *world) {
	w.call(w.blocks(activity.Through(gate.New("till", 1))), 3)
	time.Sleep(time.Minute)
}

// keysWait lets a call of each of thirteen keys and three of ann wait.
func keysWait(w *world) {
	call := w.blocks(activity.Through(gate.New("till", 1)))
	flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, call, n) })
	w.again(perdure.Register(call, flow))
	w.start(flow, 1)
	for i := range 15 {
		key := []string{"ann", fmt.Sprint("k", i)}[min(i/3, 1)]
		if _, err := perdure.Start(w.t.Context(), w.eng, flow, fmt.Sprint("of ", i), i, workflow.Key(key)); err != nil {
			w.t.Fatal(err)
		}
	}
	time.Sleep(time.Minute)
}

func queuesForSlots(w *world) {
	refund := activity.New("refund", func(context.Context, int) (int, error) { return 0, nil })
	flow := workflow.New("flow", func(wf *workflow.Context, _ int) (int, error) {
		first := workflow.Async(wf, w.blocks(), 0)
		if _, err := workflow.Call(wf, refund, 0); err != nil {
			return 0, err
		}
		return first.Get(wf)
	})
	w.again(perdure.Register(w.blocks(), refund, flow), perdure.Concurrency(1))
	w.start(flow, 1)
	time.Sleep(time.Minute)
}

func breaks(w *world) {
	till := gate.New("till", 1, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true}))
	w.call(fails(1, activity.Through(till)), 1)
}

// breaksForAKey opens the breaker of runs without a key.
func breaksForAKey(w *world) {
	till := gate.New("till", 1, gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: time.Hour, Wait: true, PerKey: true}))
	w.call(fails(1, activity.Through(till)), 1)
}

func mendsForAKey(w *world) { breaksForAKey(w); time.Sleep(2 * time.Hour) }

func mends(w *world) { breaks(w); time.Sleep(2 * time.Hour) }

func parks(w *world) {
	flow := workflow.New("flow", func(*workflow.Context, int) (int, error) { panic("a mistake") })
	w.again(perdure.Register(flow))
	w.start(flow, 1)
}

func sticks(w *world) {
	flow := workflow.New("flow", func(*workflow.Context, int) (int, error) {
		<-w.release //perdure:deterministic that it never yields is what is counted
		return 0, nil
	})
	w.again(perdure.Register(flow))
	w.start(flow, 1)
	time.Sleep(time.Minute)
}

func sweeps(w *world) {
	w.again(perdure.Retain(view.Retention{Completed: time.Hour}))
	time.Sleep(time.Minute)
}

func lacksCode(w *world) {
	flow := workflow.New("flow", func(wf *workflow.Context, _ int) (int, error) { return 0, workflow.Sleep(wf, time.Minute) })
	w.again(perdure.Register(flow))
	w.start(flow, 1)
	w.again()
	time.Sleep(time.Hour)
}

// moves are series and what they are before and after something has happened; an empty
// value stands for absent, and a star for any that is not zero.
var moves = []struct {
	series        string
	happens       func(*world)
	before, after string
}{
	{`perdure_turns_total`, recovers, "", "*"},
	{`perdure_commits_total`, recovers, "", "*"},
	{`perdure_commit_seconds_count`, recovers, "0", "*"},
	{`perdure_runs_started_total{workflow="flow"}`, recovers, "", "1"},
	{`perdure_runs_ended_total{workflow="flow",status="completed"}`, recovers, "", "1"},
	{`perdure_runs_ended_total{workflow="flow",status="failed"}`, givesUp, "", "1"},
	{`perdure_calls_total{activity="charge",outcome="recovered"}`, recovers, "", "1"},
	{`perdure_calls_total{activity="charge",outcome="exhausted"}`, givesUp, "", "1"},
	{`perdure_attempts_failed_total{activity="charge",outcome="failed",error_type="Error"}`, recovers, "", "2"},
	{`perdure_retries_total{activity="charge",error_type="Error"}`, givesUp, "", "2"},
	{`perdure_attempts_lost_total{activity="charge",reason="lease_expired"}`, loses, "", "1"},
	{`perdure_backoff_seconds_total{activity="charge"}`, recovers, "", "120"},
	{`perdure_run_seconds_count{workflow="flow"}`, recovers, "", "1"},
	{`perdure_run_seconds_sum{workflow="flow"}`, recovers, "", "120"},
	{`perdure_attempt_seconds_count{activity="charge"}`, recovers, "", "3"},
	{`perdure_attempt_seconds_count{activity="charge"}`, func(w *world) { w.call(fails(0), 1); time.Sleep(time.Second) }, "", "1"},
	{`perdure_lateness_seconds_count`, recovers, "0", "2"},
	{`perdure_attempt_wait_seconds_count`, recovers, "0", "3"},
	{`perdure_residents`, runs, "0", "1"},
	{`perdure_attempts_running`, runs, "0", "1"},
	{`perdure_slots`, func(w *world) { w.again(perdure.Concurrency(7)) }, "*", "7"},
	{`perdure_partitions`, closes, "*", "0"},
	{`perdure_stuck_turns`, sticks, "0", "1"},
	{`perdure_swept_timestamp_seconds`, sweeps, "0", "*"},
	{`perdure_database_away`, databaseLeaves, "0", "1"},
	{`perdure_live`, closes, "1", "0"},
	{`perdure_ready`, closes, "1", "0"},
	{`perdure_runs{status="running"}`, runs, "0", "1"},
	{`perdure_runs{status="parked"}`, parks, "0", "1"},
	{`perdure_runs{status="waiting-for-code"}`, lacksCode, "0", "1"},
	{`perdure_calls{state="backoff"}`, func(w *world) { w.call(fails(1), 1) }, "0", "1"},
	{`perdure_calls{state="gated"}`, queuesAtGate, "0", "2"},
	{`perdure_calls{state="quarantined"}`, quarantines, "0", "1"},
	{`perdure_calls{state="in-doubt"}`, doubts, "0", "1"},
	{`perdure_questions_total{activity="charge",answer="unknown"}`, doubts, "", "2"},
	{`perdure_questions_total{activity="charge",answer="found"}`, finds, "", "1"},
	{`perdure_waiting{for="gate",activity="",gate="till",queue=""}`, queuesAtGate, "", "2"},
	{`perdure_waiting{for="quarantined",activity="charge",gate="",queue=""}`, quarantines, "", "1"},
	{`perdure_waiting_oldest_seconds{for="gate",activity="",gate="till",queue=""}`, queuesAtGate, "", "*"},
	{`perdure_waiting_oldest_seconds{for="slot",activity="refund",gate="",queue=""}`, queuesForSlots, "", "*"},
	{`perdure_key_waiting{key="ann"}`, keysWait, "", "3"},
	{`perdure_key_waiting{key="other"}`, keysWait, "", "3"},
	{`perdure_key_waiting_oldest_seconds{key="ann"}`, keysWait, "", "60"},
	{`perdure_breaker_open{gate="till"}`, breaks, "", "1"},
	{`perdure_breaker_open{gate="till"}`, mends, "", "0"},
	{`perdure_breaker_open_keys{gate="till"}`, breaksForAKey, "", "1"},
	{`perdure_breaker_open_keys{gate="till"}`, mendsForAKey, "", "0"},
	{`perdure_nodes{state="live"}`, func(w *world) { w.plan.Crash(); time.Sleep(time.Minute); w.page = w.metrics.Handler(open(w.t, w.db)) }, "1", "0"},
	{`perdure_builds`, func(w *world) { closes(w); w.page = w.metrics.Handler(open(w.t, w.db)) }, "1", "0"},
	{`perdure_runs_away`, movesAway, "0", "*"},
	{`perdure_served`, func(w *world) { closes(w); w.page = w.metrics.Handler(open(w.t, w.db)) }, "1", "0"},
	{`perdure_attention`, quarantines, "0", "1"},
	{`perdure_status_age_seconds`, databaseLeaves, "0", "20"},
	{`perdure_status_failed`, databaseLeaves, "0", "1"},
}

// TestE128_EveryMetricMoves: each metric of the table is there before the thing it tells of
// happens to a real engine, or is absent without its labels, and is another one after it.
func TestE128_EveryMetricMoves(t *testing.T) {
	moved := map[string]bool{}
	for _, m := range moves {
		name, _, _ := strings.Cut(m.series, "{")
		name = strings.TrimSuffix(strings.TrimSuffix(name, "_count"), "_sum")
		moved[name] = true
		t.Run(m.series, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				expectLike(t, "before", scraped(t, w.page)[m.series], m.before)
				m.happens(w)
				expectLike(t, "after", scraped(t, w.page)[m.series], m.after)
			})
		})
	}
	for _, m := range telemetry.Catalog() {
		if !moved[m.Name] {
			t.Errorf("nothing moves %s: add what does to moves", m.Name)
		}
		delete(moved, m.Name)
	}
	for name := range moved {
		t.Errorf("%s is in moves and not in the table", name)
	}
}

func expectLike(t *testing.T, when, got, want string) {
	t.Helper()
	if want == "*" && got != "" && got != "0" || got == want {
		return
	}
	t.Errorf("%s it is %q, want %q", when, got, want)
}

// TestE128_EnginesOfTwoGroups: two engines of one process share what is counted, and each
// handler tells of its own engine's group.
func TestE128_EnginesOfTwoGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics, db := telemetry.New(), memory.New()
		flow := workflow.New("flow", func(wf *workflow.Context, _ int) (int, error) { return 0, workflow.Sleep(wf, time.Hour) })
		var pages []http.Handler
		for n, group := range []string{"", "other"} {
			e := open(t, db, metrics.Engine(), perdure.Group(group), perdure.Register(flow))
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range n + 1 {
				if _, err := perdure.Start(t.Context(), e, flow, group+string(rune('a'+i)), 0); err != nil {
					t.Fatal(err)
				}
			}
			pages = append(pages, metrics.Handler(e))
		}
		synctest.Wait()
		for n, page := range pages {
			got := scraped(t, page)
			expect(t, got, map[string]string{
				`perdure_runs{status="running"}`:              string(rune('1' + n)),
				`perdure_runs_started_total{workflow="flow"}`: "3",
			})
		}
	})
}

// TestE128_SeriesAreBounded: the table says how many series each metric has at most, and a
// metric with labels has a bound that a database of metrics bears.
func TestE128_SeriesAreBounded(t *testing.T) {
	for _, m := range telemetry.Catalog() {
		if m.Series < 1 || m.Series > 1000 || (m.Series == 1) != (len(m.Labels) == 0) {
			t.Errorf("%s has at most %d series, with labels %v", m.Name, m.Series, m.Labels)
		}
	}
}
