package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/perdure/perdure/store"
)

// turnChecks are about what a turn writes.
var turnChecks = []check{
	{"Turn/StateReplacesTheWhole", func(f *fixture) {
		run := f.created()
		for _, state := range []store.RunState{
			{Status: store.WaitingForCode, Wake: 12345, Detail: []byte(`"no such workflow"`)},
			{Status: store.Parked, Wake: store.Never, Detail: []byte{0xff, 0, 1}},
			{Status: store.Running, Wake: store.Hot},
			{Status: store.Completed, Wake: store.Never, Closed: math.MaxInt64, Detail: []byte(`{}`)},
		} {
			f.commits(f.turn(run, 0, stating(state)))
			equal(f, f.find(run.ID).RunState, state)
		}
		f.commits(f.turn(run, 2))
		equal(f, f.find(run.ID).Status, store.Completed) // nil leaves it
	}},
	{"Turn/AttributesReplaceTheWhole", func(f *fixture) {
		other := f.created()
		oslo, lyon, gold := store.Attribute{Name: "city", Value: "Oslo"}, store.Attribute{Name: "city", Value: "Lyon"}, store.Attribute{Name: "tier", Value: "gold"}
		with := func(all ...store.Attribute) func(t *store.Turn) {
			return func(t *store.Turn) { t.Attributes = &all }
		}
		run := f.newRun(func(r *store.Run) { r.Attributes = []store.Attribute{oslo} })
		f.commits(f.first(run, with(gold, lyon, gold)))
		has := func(want ...store.Attribute) {
			f.Helper()
			equal(f, f.find(run.ID).Attributes, want)
			equal(f, f.find(other.ID).Attributes, nil)
			for _, a := range []store.Attribute{oslo, lyon, gold} {
				var ids []string
				if slices.Contains(want, a) {
					ids = []string{run.ID}
				}
				equal(f, f.list(store.Filter{Attributes: []store.Attribute{a}}), ids)
			}
		}
		has(lyon, gold)
		f.commits(f.turn(run, 2)) // nil leaves them
		has(lyon, gold)
		third := f.turn(run, 3, with(oslo))
		f.commits(third, f.turn(other, 2))
		has(oslo)
		f.commits(f.turn(run, 4, with()))
		f.commits(third) // again, late
		has()
		// With its last turn a run may change its own, whatever those of the next one.
		next := f.newRun(following(run), func(r *store.Run) { r.Attributes = []store.Attribute{lyon} })
		f.commits(f.turn(run, 5, continuing(next), with(gold)))
		equal(f, f.find(run.ID).Attributes, []store.Attribute{gold})
		equal(f, f.find(next.ID), next)
		spoiled(f, f.turn(other, 9, with(gold)), func(t store.Turn) error { return f.commit(t)[0] },
			func(t *store.Turn) { t.Number = 0 },
			with(store.Attribute{Value: "x"}),
			with(store.Attribute{Name: "x", Value: "\x00"}),
		)
	}},
	{"Turn/CallsAreReplacedAndDeleted", func(f *fixture) {
		run, other := f.created(), f.created()
		call := func(number int64, state store.CallState) store.Call {
			return store.Call{Partition: f.partition, Run: run.ID, Number: number, State: state, Name: "charge", Queue: "gpu", Attempt: 3, Due: 99, Data: []byte("d")}
		}
		f.commits(f.turn(run, 2, calling(call(5, store.Backoff), call(2, store.Queued), store.Call{Number: 9, State: store.External})))
		equal(f, f.calls(run.ID), []store.Call{call(2, store.Queued), call(5, store.Backoff), {Partition: f.partition, Run: run.ID, Number: 9, State: store.External}})
		changed := call(5, store.Paused)
		changed.Data, changed.Due, changed.Queue, changed.Name, changed.Attempt = nil, 0, "", "other", 4
		t := f.turn(run, 0, calling(changed))
		t.Closed = []int64{2, 77}
		f.commits(t, t) // a change of calls can be repeated
		equal(f, f.calls(run.ID), []store.Call{changed, {Partition: f.partition, Run: run.ID, Number: 9, State: store.External}})
		equal(f, len(f.calls(other.ID)), 0)
	}},
	{"Turn/ManyCalls", func(f *fixture) {
		run, other := f.created(), f.created()
		call := func(number int64, state store.CallState, attempt int) store.Call {
			return store.Call{Partition: f.partition, Run: run.ID, Number: number, State: state, Name: "charge", Attempt: attempt, Data: fmt.Appendf(nil, "%d/%d", number, attempt)}
		}
		const n = 300 // more than a store writes with one statement
		t := f.turn(run, 2)
		for i := range int64(n) {
			t.Calls = append(t.Calls, call(i+1, store.Queued, 1))
		}
		t.Calls = append(t.Calls, call(7, store.Queued, 2), call(n, store.Queued, 3), call(7, store.Queued, 4)) // the last of each counts
		f.commits(t, f.turn(other, 2, calling(store.Call{Number: 1, State: store.Queued}, store.Call{Number: 2, State: store.Queued})))
		want := slices.Clone(t.Calls[:n])
		want[6], want[n-1] = call(7, store.Queued, 4), call(n, store.Queued, 3)
		equal(f, f.calls(run.ID), want)
		t = f.turn(run, 3)
		var rest []store.Call
		for i := range want {
			switch c := &want[i]; i % 3 {
			case 0:
				t.Closed = append(t.Closed, c.Number)
			case 1:
				c.State = store.Dispatched
				t.Calls = append(t.Calls, *c)
				rest = append(rest, *c)
			default:
				rest = append(rest, *c)
			}
		}
		t.Calls, t.Closed = append(t.Calls, call(1, store.Dispatched, 1)), append(t.Closed, 7777) // rows are written, then deleted
		f.commits(t)
		equal(f, f.calls(run.ID), rest)
		equal(f, len(f.calls(other.ID)), 2)
	}},
	{"Turn/LedgerRowsAreInsertedOnce", func(f *fixture) {
		run := f.created()
		attempt := store.Attempt{Call: 1, Number: 1, Name: "charge", Outcome: "failed", ErrorType: "net", Reason: "will retry", Started: 5, Ended: 6, Data: []byte(`{"node":"a"}`)}
		f.commits(f.turn(run, 2, attempting(attempt)))
		attempt.Outcome, attempt.Data = "completed", nil
		f.commits(f.turn(run, 3, attempting(attempt, store.Attempt{Call: 2, Number: 1}, store.Attempt{Call: 1, Number: 2})))
		stored := f.attempts(run.ID)
		equal(f, len(stored), 3)
		equal(f, stored[0], store.Attempt{Partition: f.partition, Run: run.ID, Call: 1, Number: 1, Name: "charge", Outcome: "failed", ErrorType: "net", Reason: "will retry", Started: 5, Ended: 6, Data: []byte(`{"node":"a"}`)})
		equal(f, [4]int64{stored[1].Call, int64(stored[1].Number), stored[2].Call, int64(stored[2].Number)}, [4]int64{1, 2, 2, 1})
		equal(f, must(f.store.Attempts(f.Context(), f.partition, run.ID, store.AttemptRange{Call: 2}))(f), stored[2:])
	}},
	{"Turn/LedgerIsReadInParts", func(f *fixture) {
		run, other := f.created(), f.created()
		t := f.turn(run, 2)
		for call, attempts := range map[int64]int{1: 1, 2: 3, 7: 2} {
			for n := range attempts {
				t.Attempts = append(t.Attempts, store.Attempt{Call: call, Number: n + 1})
			}
		}
		f.commits(t, f.turn(other, 2, attempting(store.Attempt{Call: 2, Number: 4})))
		read := func(part store.AttemptRange) []store.AttemptKey {
			found := must(f.store.Attempts(f.Context(), f.partition, run.ID, part))(f)
			return each(found, func(a store.Attempt) store.AttemptKey { return store.AttemptKey{Call: a.Call, Number: a.Number} })
		}
		all := []store.AttemptKey{{Call: 1, Number: 1}, {Call: 2, Number: 1}, {Call: 2, Number: 2}, {Call: 2, Number: 3}, {Call: 7, Number: 1}, {Call: 7, Number: 2}}
		latest := []store.AttemptKey{all[0], all[3], all[5]}
		equal(f, read(store.AttemptRange{}), all)
		equal(f, read(store.AttemptRange{Limit: 2}), all[:2])
		equal(f, read(store.AttemptRange{After: all[1], Limit: 2}), all[2:4])
		equal(f, read(store.AttemptRange{After: all[3]}), all[4:])
		equal(f, read(store.AttemptRange{After: store.AttemptKey{Call: 2, Number: math.MaxInt}}), all[4:])
		equal(f, read(store.AttemptRange{After: store.AttemptKey{Call: 3}}), all[4:])
		equal(f, read(store.AttemptRange{After: all[5]}), nil)
		equal(f, read(store.AttemptRange{Call: 2, After: all[1]}), all[2:4])
		equal(f, read(store.AttemptRange{Call: 2, After: all[0], Limit: 1}), all[1:2])
		equal(f, read(store.AttemptRange{Call: 2, After: all[4]}), nil)
		equal(f, read(store.AttemptRange{Call: 3}), nil)
		equal(f, read(store.AttemptRange{Latest: true}), latest)
		equal(f, read(store.AttemptRange{Latest: true, After: all[0], Limit: 1}), latest[1:2])
		equal(f, read(store.AttemptRange{Latest: true, Call: 7}), latest[2:])
	}},
	{"Turn/PruneKeepsFirstAndLastAttempts", func(f *fixture) {
		run := f.created()
		const first, last, total = 3, 4, 20
		for n := 1; n <= total; n++ {
			a := store.Attempt{Call: 7, Number: n}
			if n > first+last {
				a.Prune = n - last
			}
			f.commits(f.turn(run, int64(n+1), attempting(a)))
		}
		kept := each(f.attempts(run.ID), func(a store.Attempt) [2]int { return [2]int{a.Number, a.Prune} })
		equal(f, kept, [][2]int{{1, 0}, {2, 0}, {3, 0}, {17, 0}, {18, 0}, {19, 0}, {20, 0}})
	}},
	{"Turn/HookRunsOnceAndItsErrorUndoesTheTurnAlone", func(f *fixture) {
		run, other := f.created(), f.created()
		boom := errors.New("boom")
		ran := 0
		t := f.turn(run, 2, ending(store.Completed), calling(store.Call{Number: 1, State: store.Queued}), attempting(store.Attempt{Call: 1, Number: 1}),
			sending(store.Message{Partition: f.partition, WorkflowID: other.WorkflowID, Key: "no"}))
		t.Hook = func(any) error { ran++; return boom }
		bystander := f.created()
		before := f.dump(run.ID)
		errs := f.commit(f.turn(bystander, 2), t, f.turn(bystander, 3))
		if _, is := errors.AsType[*store.HookError](errs[1]); !is || !errors.Is(errs[1], boom) {
			f.Fatalf("got %v, want a HookError of boom", errs[1])
		}
		f.is(errors.Join(errs[0], errs[2]), nil)
		equal(f, ran, 1)
		equal(f, f.dump(run.ID), before)
		equal(f, len(f.history(bystander.ID)), 3)
		t.Hook = func(any) error { ran++; return nil }
		f.commits(t)
		equal(f, ran, 2)
		equal(f, f.find(run.ID).Status, store.Completed)
	}},
	{"Turn/HookPanicIsAnError", func(f *fixture) {
		run := f.created()
		err := f.commit(f.turn(run, 2, func(t *store.Turn) { t.Hook = func(any) error { panic("ouch") } }))[0]
		if _, is := errors.AsType[*store.HookError](err); !is || !strings.Contains(err.Error(), "ouch") {
			f.Fatalf("got %v", err)
		}
		f.commits(f.turn(run, 2)) // nobody holds anything
	}},
	{"Turn/HookMayEndItsGoroutine", func(f *fixture) {
		run := f.created()
		t := f.turn(run, 2)
		ended := make(chan struct{})
		t.Hook = func(any) error {
			defer close(ended)
			runtime.Goexit()
			return nil
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			f.store.Commit(f.Context(), []store.Turn{t})
		}()
		<-ended
		<-gone
		equal(f, len(f.history(run.ID)), 1)
		f.commits(f.turn(run, 2))
	}},
	{"Turn/HookMayBeLeftBehind", func(f *fixture) {
		run, bystander := f.created(), f.created()
		t := f.turn(run, 2)
		t.Hook = func(any) error { return fmt.Errorf("enough: %w", store.ErrHookLeft) }
		before, after := f.turn(bystander, 2), f.turn(bystander, 3)
		errs := f.commit(before, t, after)
		if _, is := errors.AsType[*store.HookError](errs[1]); !is || !errors.Is(errs[1], store.ErrHookLeft) || store.Unavailable(errs[1]) {
			f.Fatalf("got %v", errs[1])
		}
		if errs = []error{errs[0], errs[2]}; store.Unavailable(errs[0]) || store.Unavailable(errs[1]) {
			errs = f.unblocked(before, after)
		}
		f.is(errors.Join(errs...), nil)
		equal(f, len(f.history(run.ID)), 1)
		equal(f, len(f.history(bystander.ID)), 3)
		f.is(errors.Join(f.unblocked(f.turn(run, 2))...), nil)
	}},
	{"Turn/BytesAreOpaque", func(f *fixture) {
		run := f.created()
		large := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
		for i, b := range [][]byte{nil, []byte(`{"a":"ü"}`), {0}, {0xff, 0xfe}, []byte("a\x00b"), []byte("'; DROP TABLE runs; --"), []byte("𝄞"), large, append([]byte{0x80}, large[:1<<20]...)} {
			t := f.turn(run, int64(i+2), stating(store.RunState{Status: store.Running, Detail: b}), calling(store.Call{Number: 1, State: store.Queued, Data: b}),
				sending(store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: run.ID, Data: b}))
			t.Events, t.Attempts = b, []store.Attempt{{Call: 1, Number: i + 1, Data: b}}
			f.commits(t)
			inbox := f.inbox()
			for name, got := range map[string][]byte{
				"Events":  f.history(run.ID)[i+1].Events,
				"Detail":  f.find(run.ID).Detail,
				"Call":    f.calls(run.ID)[0].Data,
				"Attempt": f.attempts(run.ID)[i].Data,
				"Message": inbox[0].Data,
			} {
				if !bytes.Equal(got, b) || len(b) == 0 && got != nil {
					f.Errorf("%s: bytes %d came back as %d bytes (nil: %v)", name, i, len(got), got == nil)
				}
			}
			f.commits(f.turn(run, 0, consuming(inbox[0])))
		}
	}},
	{"Turn/OddStringsComeBack", func(f *fixture) {
		for _, s := range []string{"ü 𝄞 日本", `"quoted" 'single' \back %x ? ; --`, "line\nbreak\ttab", "\u202eright to left", strings.Repeat("long", 1000), " ", "NULL", "1e5", "\x01\x7f"} {
			run := f.newRun()
			run.ID, run.Chain, run.WorkflowID, run.Type, run.Group = run.ID+s, run.Chain+s, run.WorkflowID+s, s, s
			t := f.first(run)
			t.Calls = []store.Call{{Number: 1, State: store.CallState(s), Name: s, Queue: s}}
			t.Attempts = []store.Attempt{{Call: 1, Number: 1, Name: s, Outcome: s, ErrorType: s, Reason: s}}
			t.Messages = []store.Message{{Partition: f.partition, WorkflowID: s, Run: s, Key: s, Kind: s}}
			f.commits(t)
			equal(f, f.find(run.ID), run)
			call, attempt := f.calls(run.ID)[0], f.attempts(run.ID)[0]
			equal(f, [2]string{call.Name, call.Queue}, [2]string{s, s})
			equal(f, [4]string{attempt.Name, attempt.Outcome, attempt.ErrorType, attempt.Reason}, [4]string{s, s, s, s})
			inbox := f.inbox()
			m := inbox[len(inbox)-1]
			equal(f, [4]string{m.WorkflowID, m.Run, m.Key, m.Kind}, [4]string{s, s, s, s})
			equal(f, f.latest(run.WorkflowID), run)
		}
	}},
	{"Turn/BytesHandedOutBelongToTheReceiver", func(f *fixture) {
		run := f.created()
		f.history(run.ID)[0].Events[0] = 'X'
		f.find(run.ID).Start[0] = 'X'
		equal(f, f.history(run.ID)[0].Events[0], '[')
		equal(f, f.find(run.ID).Start[0], '{')
	}},
}
