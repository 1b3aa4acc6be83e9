package dashboard

import (
	"math/rand/v2"
	"testing"

	"github.com/perdure/perdure/view"
)

// TestF50_PagesByCalls: the pages of a history by calls have each call and each other event once,
// in order and with the end of the call, wherever that stands. A call that goes on for long is
// not looked for to its end.
func TestF50_PagesByCalls(t *testing.T) {
	const calls, slow = 3000, 7 // one call ends with the history
	var all []view.Event
	add := func(kind string, call int64) {
		all = append(all, view.Event{Turn: int64(len(all)/3 + 1), Number: len(all)%3 + 1, Kind: kind, Call: call})
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var open []int64
	end := func() {
		i := draw.IntN(len(open))
		add("AttemptStarted", open[i])
		add("CallCompleted", open[i])
		open = append(open[:i], open[i+1:]...)
	}
	for call := int64(1); call <= calls; call++ {
		switch {
		case call%10 == 0:
			add("SideEffectRecorded", call)
			add("SignalReceived", 0)
			continue
		case call == slow:
			add("ActivityScheduled", call)
			continue
		}
		add("ActivityScheduled", call)
		for open = append(open, call); len(open) > draw.IntN(100); {
			end()
		}
	}
	for len(open) > 0 {
		end()
	}
	add("CallFailed", slow)

	type row struct{ first, last view.Place }
	whole := callSpans{byCall: map[int64]int{}, whole: true}
	var want []row
	at := map[int64]int{}
	for i := range all {
		e := &all[i]
		if k, known := at[e.Call]; known && e.Call != 0 {
			want[k].last = e.Place()
			continue
		}
		at[e.Call] = len(want)
		want = append(want, row{e.Place(), e.Place()})
	}
	var got []row
	for from, s := 0, whole; ; s = (callSpans{byCall: map[int64]int{}}) {
		for i := from; i < len(all) && !s.done(); i++ {
			s.add(&all[i])
		}
		for _, r := range s.rows {
			if got = append(got, row{r.first.Place(), r.last.Place()}); r.unended != (r.first.Call == slow) {
				t.Errorf("call %d: %+v", r.first.Call, r)
			}
		}
		if !s.full {
			break
		}
		if len(s.rows) != pageEvents || s.ahead > aheadEvents {
			t.Fatalf("a page has %d rows and looks %d events ahead", len(s.rows), s.ahead)
		}
		for from < len(all) && !s.last.Before(&all[from]) {
			from++
		}
	}
	if len(got) != len(want) {
		t.Fatalf("the pages have %d rows; want %d", len(got), len(want))
	}
	for i := range want {
		if want[i].last == all[len(all)-1].Place() {
			continue // the call that takes long
		}
		if got[i] != want[i] {
			t.Fatalf("row %d is %+v; want %+v", i, got[i], want[i])
		}
	}
}
