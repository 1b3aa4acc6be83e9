package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// collector reads numbers, in each run so many, until it has all.
var (
	number = workflow.NewSignal[int]("number")

	collector = workflow.Declare[collected, []int]("collector")
)

type collected struct {
	Got       []int
	Each, All int
}

func collect(wf *workflow.Context, in collected) ([]int, error) {
	for range in.Each {
		n, err := workflow.Receive(wf, number)
		if err != nil {
			return in.Got, err
		}
		if in.Got = append(in.Got, n); len(in.Got) == in.All {
			return in.Got, nil
		}
	}
	return workflow.ContinueAsNew(wf, collector, in)
}

// TestE40_SignalsOverManyRuns: while runs follow each other as fast as they can,
// signals arrive from a client, from another process, and those that come twice:
// none is lost, none is doubled, and they keep their order.
func TestE40_SignalsOverManyRuns(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		const all = 300
		e := w.start(collector.Impl(collect))
		begin(t, e, collector, "all", collected{Each: 1, All: all})
		for n := range all {
			signal(t, e, "all", "number", fmt.Sprint("the ", n), n)
			if n > 0 && n%3 == 0 {
				payload, _ := history.Encode(-1)
				if err := e.Signal(t.Context(), "all", "number", fmt.Sprint("the ", n-1), payload); err != nil && !errors.Is(err, store.ErrClosed) {
					t.Fatal(err)
				}
			}
		}
		got, err := finish[[]int](t, e, "all")
		if err != nil || len(got) != all || !slices.IsSorted(got) || got[0] != 0 {
			t.Errorf("got %v, %v", got, err)
		}
		if d := describe(t, e, "all"); len(d.Chain) != 20 || d.Chain[19].Number != all || d.Chain[19].Status != "completed" {
			t.Errorf("the chain is %+v", d.Chain)
		}
	})
}

// TestE11_AChainIsOneWorkflow: a caller that starts a chain again attaches to it by the input
// of its first run and waits for its last run, in any process.
func TestE11_AChainIsOneWorkflow(t *testing.T) {
	needsQueries.inVirtualTime(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect))
		in := collected{Each: 1, All: 3}
		first := begin(t, e, collector, "c", in)
		signal(t, e, "c", "number", "the 1", 1)
		pass(time.Second)
		latest, attached, err := tryBegin(t.Context(), e, collector, "c", in)
		if err != nil || !attached || latest == first {
			t.Errorf("started again: %s, %t, %v; the first run is %s", latest, attached, err, first)
		}
		_, _, err = tryBegin(t.Context(), e, collector, "c", collected{Got: []int{1}, Each: 1, All: 3}) // as the second run
		if taken, is := errors.AsType[*request.IDInUseError](err); !is || taken.Run != latest {
			t.Errorf("started with the input of the second run: %v", err)
		}
		// Seen in the first run, sent again to the second.
		signal(t, e, "c", "number", "the 1", 100)
		signal(t, e, "c", "number", "", 2)
		answers := make(chan string, 3)
		for _, run := range []string{first, latest, ""} {
			go func() {
				last, s, err := e.Result(t.Context(), "c", run)
				answers <- fmt.Sprintf("%t %s %v", last == latest || last == first, s.Status, err)
			}()
		}
		pass(time.Second)
		signal(t, e, "c", "number", "", 3)
		for range 3 {
			if got := <-answers; got != "false completed <nil>" {
				t.Errorf("somebody was told: %s", got)
			}
		}
		if got, err := finish[[]int](t, e, "c"); !slices.Equal(got, []int{1, 2, 3}) || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		if _, err := e.Describe(t.Context(), "another", first); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a run of another workflow ID: %v", err)
		}
	})
}

// TestE40_AChainInAPartitionThatWasToLeave: a run that is continued while its
// partition is offered to others is followed by the next one as soon as the
// partition is kept, and by none before.
func TestE40_AChainInAPartitionThatWasToLeave(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		long := activity.New("long", func(ctx context.Context, n int) (int, error) { return n, busy(ctx, time.Minute) })
		keeper := workflow.New("keeper", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, long, n) })
		ticker := workflow.Declare[int, int]("ticker")
		e := w.start(long, keeper, ticker.Impl(func(wf *workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(wf, time.Second); err != nil || n == 5 {
				return n, err
			}
			return workflow.ContinueAsNew(wf, ticker, n+1)
		}))
		begin(t, e, keeper, "keeper", 1)
		begin(t, e, ticker, "ticker", 0)
		patience, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		engine.HandOver(e, patience)
		if d := describe(t, e, "ticker"); len(d.Chain) != 2 {
			t.Errorf("while the partition was to leave there were the runs %+v", d.Chain)
		}
		if got, err := finish[int](t, e, "ticker"); got != 5 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// TestE11_AChainIsFollowedFromElsewhere: a process that serves nothing waits for
// the result of the last run, from whichever it begins.
func TestE11_AChainIsFollowedFromElsewhere(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect))
		client := w.open(w.config())
		first := begin(t, client, collector, "c", collected{Each: 1, All: 30})
		answers := make(chan string, 2)
		for _, run := range []string{first, ""} {
			go func() {
				_, s, err := client.Result(t.Context(), "c", run)
				answers <- fmt.Sprint(s.Status, ", ", err)
			}()
		}
		for n := range 30 {
			signal(t, client, "c", "number", fmt.Sprint(n), n)
		}
		for range 2 {
			if got := <-answers; got != "completed, <nil>" {
				t.Errorf("the client was told: %s", got)
			}
		}
		if got, err := finish[[]int](t, e, "c"); len(got) != 30 || !slices.IsSorted(got) || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// TestE45_CancelSticksToTheChain: a cancellation that the code does not heed
// because it continues as new reaches the next run before its code begins.
func TestE45_CancelSticksToTheChain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		poller := workflow.Declare[int, string]("poller")
		e := w.start(poller.Impl(func(wf *workflow.Context, n int) (string, error) {
			if err := workflow.Sleep(wf, time.Hour); err != nil && n > 0 {
				return "", fmt.Errorf("after %d: %w", n, err)
			}
			return workflow.ContinueAsNew(wf, poller, n+1)
		}))
		begin(t, e, poller, "p", 0)
		pass(time.Minute)
		if err := e.Cancel(t.Context(), "p", "", request.By{Why: "enough"}); err != nil {
			t.Fatal(err)
		}
		_, err := finish[string](t, e, "p")
		why, is := errors.AsType[*workflow.CancelError](err)
		if !is || why.Reason != "enough" || !strings.HasPrefix(err.Error(), "after 1:") {
			t.Errorf("got %v", err)
		}
		if d := describe(t, e, "p"); d.Status != "canceled" || len(d.Chain) != 2 {
			t.Errorf("the last run is %s, the chain is %+v", d.Status, d.Chain)
		}
	})
}

// TestE8_LateForAnEarlierRun: three runs end while their attempts and timers are
// under way; whatever comes of these is dropped, counted, and in no history of a
// later run.
func TestE8_LateForAnEarlierRun(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		deaf := activity.New("deaf", func(_ context.Context, n int) (int, error) { time.Sleep(time.Minute); return n, nil })
		racer := workflow.Declare[int, int]("racer")
		e := w.start(deaf, racer.Impl(func(wf *workflow.Context, n int) (int, error) {
			workflow.NewTimer(wf, 50*time.Second) // nobody waits for it
			if n == 3 {
				return n, workflow.Sleep(wf, time.Hour)
			}
			late := workflow.Async(wf, deaf, n)
			workflow.Async(wf, deaf, n+10) // it runs when the run ends
			if workflow.Select(wf, late, workflow.NewTimer(wf, time.Second)) == 0 {
				return 0, errors.New("the activity was faster")
			}
			return workflow.ContinueAsNew(wf, racer, n+1)
		}))
		begin(t, e, racer, "r", 0)
		if got, err := finish[int](t, e, "r"); got != 3 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if dropped := droppedInputs(w.log); dropped < 6 {
			t.Errorf("%d late results were counted, want 6", dropped)
		}
		for _, ev := range eventsOf(t, e, "r") {
			if ev.Kind == history.CallCompleted || ev.Kind == history.AttemptStarted {
				t.Errorf("the last run has %s", ev.Kind)
			}
		}
		for _, run := range describe(t, e, "r").Chain[:3] {
			attempts, err := e.Attempts(t.Context(), "r", run.RunID, view.AttemptRange{})
			if err != nil || len(attempts) != 2 || attempts[0].Outcome != "canceled" || attempts[1].Outcome != "canceled" {
				t.Errorf("run %d has the attempts %+v, %v", run.Number, attempts, err)
			}
		}
	})
}

// droppedInputs is how many late inputs the engine has counted, which may come
// several at a time.
func droppedInputs(r *record) (all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if _, after, is := strings.Cut(line, "count="); is && strings.Contains(line, "inputs were dropped") {
			n := 0
			_, _ = fmt.Sscan(after, &n)
			all += n
		}
	}
	return all
}
