package engine_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
	rows "github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// TestI24_ARunOfAnEarlierVersionGoesOn: its start event and its first turns are in format 1,
// and those that follow are not. It is loaded, described and completed as any other.
func TestI24_ARunOfAnEarlierVersionGoesOn(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		v := vandalise(w)
		f := newTried()
		tries := f.threeTries()
		e := w.start(tries, f.activity)
		run := begin(t, e, tries, "old", "a")
		settle()
		stop(t, e)
		read := 0
		v.damage(func(of string, turn *store.TurnRow) {
			if of != run || turn.Number > 3 {
				return
			}
			events, err := new(history.Words).OpenTurn(run, turn.Number, turn.Time, turn.Events)
			if err == nil {
				turn.Events, err = history.EncodeTurn(events)
			}
			if err != nil || !strings.HasPrefix(string(turn.Events), `{"v":1,"events":[`) {
				t.Errorf("turn %d became %s, %v", turn.Number, turn.Events, err)
			}
			read++
		}, func(r *store.Run) {
			start, err := rows.Start(r)
			if err == nil {
				r.Start, err = history.EncodeStart(start)
			}
			if err != nil || !strings.HasPrefix(string(r.Start), `{"kind":"RunStarted","v":1`) {
				t.Errorf("the start event became %s, %v", r.Start, err)
			}
			read++
		}, nil)
		e = w.start(tries, f.activity)
		signal(t, e, "old", "number", "s", 7)
		if _, err := finish[string](t, e, "old"); err != nil {
			t.Error(err)
		}
		if d := describe(t, e, "old"); d.Damage != nil || d.Run.RunID != run {
			t.Errorf("it is described as %+v", d)
		}
		if read < 4 {
			t.Errorf("only %d documents of format 1 were read", read)
		}
	})
}
