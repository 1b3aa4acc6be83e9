package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// served is when a call got its slot.
type served struct {
	call int
	at   time.Time
}

// TestConcurrencyIsRespectedInOrder: never more attempts at once than slots, all
// slots used, and calls get theirs in the order in which they came.
func TestConcurrencyIsRespectedInOrder(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		const slots, runs = 3, 20
		var mu sync.Mutex
		var order []served
		active, most := 0, 0
		work := activity.New("work", func(ctx context.Context, n int) (int, error) {
			mu.Lock()
			order = append(order, served{n, time.Now()})
			active++
			most = max(most, active)
			mu.Unlock()
			defer func() {
				mu.Lock()
				active--
				mu.Unlock()
			}()
			return n, busy(ctx, time.Duration(1+n%4)*time.Second)
		})
		once := calls(work)
		config := w.config(once, work)
		config.Concurrency = slots
		e := w.startWith(config)
		for i := range runs {
			begin(t, e, once, fmt.Sprint(i), i)
			settle()
		}
		for i := range runs {
			if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
				t.Errorf("run %d: %d, %v", i, got, err)
			}
		}
		if most != slots {
			t.Errorf("at most %d attempts ran at once, want %d", most, slots)
		}
		slices.SortStableFunc(order, func(a, b served) int { return a.at.Compare(b.at) })
		for i := range order {
			for _, later := range order[i:] {
				if later.at.After(order[i].at) && later.call < order[i].call {
					t.Errorf("call %d was served before call %d, which came first", order[i].call, later.call)
				}
			}
		}
		for i := range 2 * slots { // no slot was lost
			complete(t, e, once, fmt.Sprint("again ", i), i)
		}
	})
}

// TestMaxResidentIsRespected: idle runs beyond the limit are replayed when
// something happens to them, those within it are not; the longest idle leave
// first.
func TestMaxResidentIsRespected(t *testing.T) {
	for limit, want := range map[int]string{-1: "4 4 4 4", 2: "2 2 2 2", 4: "1 1 1 1", 0: "1 1 1 1"} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				begun := make([]int, 4)
				gate := workflow.New("gate", func(wf *workflow.Context, i int) (int, error) {
					begun[i]++
					for range 3 {
						if _, err := workflow.Receive(wf, proceed); err != nil {
							return 0, err
						}
					}
					return i, nil
				})
				w.maxResident = limit
				e := w.start(gate)
				for i := range begun {
					begin(t, e, gate, fmt.Sprint(i), i)
					settle() // so that they rest in this order
				}
				// Of four idle runs the last two stay in memory, if two may. Then the
				// others come, stay, and end; and the last two come back.
				for _, i := range []int{2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3} {
					signal(t, e, fmt.Sprint(i), proceed.Name(), "", "go")
					settle()
				}
				for i := range begun {
					if got, err := finish[int](t, e, fmt.Sprint(i)); got != i || err != nil {
						t.Errorf("run %d: %d, %v", i, got, err)
					}
				}
				if got := strings.Trim(fmt.Sprint(begun), "[]"); got != want {
					t.Errorf("the code of the four runs was begun %s times, want %s", got, want)
				}
			})
		})
	}
}

// TestE6_WaitingCostsNothing: ten thousand runs that wait for a timer, a signal
// or a retry hold no goroutine, and hardly any memory.
func TestE6_WaitingCostsNothing(t *testing.T) {
	extent.NotInShort(t, "large numbers are for the long form")
	w := newWorld(t)
	w.maxResident = -1
	fails := activity.New("fails", func(context.Context, int) (int, error) { return 0, errors.New("no") },
		activity.Retry(retry.Policy{Backoff: retry.Fixed(24 * time.Hour)}))
	waits := workflow.New("waits", func(wf *workflow.Context, n int) (string, error) {
		switch n % 3 {
		case 0:
			return "timer", workflow.Sleep(wf, 24*time.Hour)
		case 1:
			return workflow.Receive(wf, proceed)
		}
		_, err := workflow.Call(wf, fails, n)
		return "retry", err
	})
	config := w.config(waits, fails)
	config.Store = w.db
	e, err := engine.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	measure := func() (goroutines int, bytes uint64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	const runs = 10_000
	goroutines, _ := measure()
	var starters sync.WaitGroup
	for part := range 20 {
		starters.Go(func() {
			for i := part; i < runs; i += 20 {
				if _, _, err := tryBegin(t.Context(), e, waits, fmt.Sprint(i), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starters.Wait()
	for counts := (view.Counts{}); counts.Calls[view.CallBackoff] < runs/3; {
		time.Sleep(10 * time.Millisecond)
		if counts, err = e.Counts(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	afterGoroutines, all := measure()
	if grown := afterGoroutines - goroutines; grown > 1000 {
		t.Errorf("%d waiting runs hold %d goroutines", runs, grown)
	}
	// What is left without the engine is the database, which is in this process.
	stop(t, e)
	e = nil
	_, rest := measure()
	perRun := (int64(all) - int64(rest)) / runs
	t.Logf("%d runs hold %d bytes each besides the database", runs, perRun)
	if perRun > 2000 {
		t.Errorf("each waiting run holds %d bytes besides the database, want at most 2000", perRun)
	}
	runtime.KeepAlive(w)
}
