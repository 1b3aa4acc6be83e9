package replay_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

var charge = activity.Declare[int, int]("charge")

var chain = workflow.New("chain", func(wf *workflow.Context, steps int) (int, error) {
	n := 0
	for range steps {
		var err error
		if n, err = workflow.Call(wf, charge, n); err != nil {
			return n, err
		}
	}
	return n, nil
})

// BenchmarkLoad is what it costs to bring an evicted run back: its record as a store
// returns it is decoded, and its code replays to where it ends.
func BenchmarkLoad(b *testing.B) {
	const steps = 1000
	stored, events := recordOf(b, steps)
	def := seal.Of(chain)
	b.ReportAllocs()
	for b.Loop() {
		past, err := record.Decode(stored)
		if err != nil {
			b.Fatal(err)
		}
		run := core.New(core.Config{}, past.Start)
		instance := def.Begin(run)
		run.Bind(instance)
		if err := run.Load(past.Turns, past.Rows, past.State); err != nil {
			b.Fatal(err)
		}
		<-instance.Close()
	}
	b.ReportMetric(float64(events*b.N)/b.Elapsed().Seconds(), "events/s")
}

// recordOf is the record of a chain that has one step left, and how many events it has.
func recordOf(b *testing.B, steps int) (*store.Record, int) {
	b.Helper()
	row, err := record.NewRun(0, &history.Start{
		WorkflowID: "w", Run: "r", Type: "chain", Chain: "r", Attempt: 1, Input: payload(b, steps), Created: 1 << 60,
	})
	if err != nil {
		b.Fatal(err)
	}
	stored := &store.Record{Run: *row}
	count := 0
	for i := range steps {
		var events []history.Event
		at := int64(1<<60 + i*1_000_000)
		if i > 0 {
			events = append(events,
				history.Event{Kind: history.AttemptStarted, Call: int64(i), Attempt: 1, Node: "host:1234/abcdef01", Queued: at, Started: at},
				history.Event{Kind: history.CallCompleted, Call: int64(i), Result: payload(b, i), Ended: at})
		}
		events = append(events, history.Event{Kind: history.ActivityScheduled, Call: int64(i + 1), Name: "charge", Input: payload(b, i)})
		count += len(events)
		data, err := history.SealTurn("r", int64(i+1), at, events)
		if err != nil {
			b.Fatal(err)
		}
		stored.Turns = append(stored.Turns, store.TurnRow{Number: int64(i + 1), CommitID: 1, Epoch: 1, Time: at, Events: data})
	}
	return stored, count
}

func payload(b *testing.B, v any) history.Payload {
	b.Helper()
	p, err := history.Encode(v)
	if err != nil {
		b.Fatal(fmt.Errorf("%v cannot be encoded: %w", v, err))
	}
	return p
}
