package inspect

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// bigLedger is a ledger of so many calls with four attempts each, a second apart, of which
// the last one succeeds. A call begins every second.
type bigLedger struct {
	store.Reader
	calls int64
	held  func()
}

func (b *bigLedger) Tallies(context.Context, store.TallyFilter) ([]store.Tally, error) {
	return []store.Tally{{TallyKey: store.TallyKey{Name: "charge"}, FirstTry: 7}, {TallyKey: store.TallyKey{Name: core.BlockName}, FirstTry: 5}}, nil
}

func (b *bigLedger) Ledger(_ context.Context, f store.LedgerFilter) (out []store.LedgerEntry, err error) {
	b.held()
	from := b.calls + 3
	if f.Before != nil {
		from = f.Before.Ended / int64(time.Second)
	}
	for second := from; second > 0 && len(out) < f.Limit; second-- {
		for call := second; call > second-4 && call > 0; call-- { // the later call has the earlier attempt
			number := int(second-call) + 1
			if call > b.calls {
				continue
			}
			e := entryOf(call, number)
			if f.Before == nil || e.Key().Compare(*f.Before) < 0 {
				out = append(out, e)
			}
			if len(out) == f.Limit {
				return out, nil
			}
		}
	}
	return out, nil
}

func entryOf(call int64, number int) store.LedgerEntry {
	ended := (call + int64(number) - 1) * int64(time.Second)
	e := store.LedgerEntry{WorkflowID: fmt.Sprint("order-", call), Type: "order", Attempt: store.Attempt{
		Run: fmt.Sprintf("run-%09d", call), Call: 1, Number: number, Name: "charge", Started: ended, Ended: ended,
		Outcome: "failed", ErrorType: "Unavailable", Reason: "backoff",
	}}
	d := core.AttemptDetail{Queued: ended, Delay: time.Second, Next: ended + int64(time.Second)}
	if number == 4 {
		e.Outcome, e.ErrorType, e.Reason, d = "completed", "", "succeeded", core.AttemptDetail{Queued: ended}
	}
	e.Data, _ = history.Seal(d)
	return e
}

// TestF25_AMillionAttempts are read in batches; what is held meanwhile does not grow with
// them.
func TestF25_AMillionAttempts(t *testing.T) {
	calls := extent.AtNight[int64](50_000, 250_000)
	if testing.Short() {
		calls = 25_000
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	pages, before, most := 0, heap(), uint64(0)
	db := &bigLedger{calls: calls}
	db.held = func() {
		if pages++; pages%100 == 0 {
			most = max(most, heap())
		}
	}
	in := New(db, Config{
		Group: store.Group{Partitions: 1}, Now: func() int64 { return (calls + 1000) * int64(time.Second) }, Usable: func() error { return nil },
	})
	p := retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}
	out, err := in.TryPolicy(t.Context(), p, view.TrialFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if int64(out.Calls) != calls || int64(out.Read) != 4*calls || out.LeftOut != 0 || out.Trial != out.Recorded || int64(out.Trial.Succeeded) != calls || out.FirstTry != 7 {
		t.Errorf("the trial is %+v", out)
	}
	if most > before+32<<20 {
		t.Errorf("%d MiB are held while %d attempts are read", (most-before)>>20, out.Read)
	}
	p.MaxAttempts = 3
	if out, err = in.TryPolicy(t.Context(), p, view.TrialFilter{}); err != nil || int64(out.Trial.Failed) != calls || int64(out.Trial.Attempts) != 3*calls || len(out.Classes) != 1 || out.Classes[0].Assumed != 0 {
		t.Errorf("with one attempt less it is %+v, %v", out, err)
	}
}
