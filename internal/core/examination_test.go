package core_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// TestI25_AnExaminationRefusesWhatLoadingRefuses: of runs of random programs, some of which continue
// from the history of another run, whatever parts the history comes in, and whatever is wrong with
// the rows.
func TestI25_AnExaminationRefusesWhatLoadingRefuses(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		program := random(drawOps(t, 2))
		d := newDriver(t, program, 0)
		for range rapid.IntRange(1, 3).Draw(t, "lives") {
			for range rapid.IntRange(1, 15).Draw(t, "steps") {
				if d.run.Ended() {
					break
				}
				twinStep(t, d, drawInputs(t, d, program))
				if examined(t, d, d.sorted()) > 0 {
					t.Fatal("a sound row is refused")
				}
				refused += examined(t, d, spoiled(t, d.sorted()))
			}
			next := drawReset(t, d, program)
			if next == nil {
				return
			}
			d = next
		}
	})
	if refused == 0 {
		t.Error("no row was refused")
	}
}

// sorted returns the rows by number, as a store lists them.
func (d *driver) sorted() []core.Row {
	return slices.SortedFunc(maps.Values(d.rows), func(a, b core.Row) int { return int(a.Call - b.Call) })
}

// spoiled returns rows of which one is wrong, usually.
func spoiled(t *rapid.T, rows []core.Row) []core.Row {
	if len(rows) == 0 {
		return nil
	}
	row := rapid.SampledFrom(rows).Draw(t, "row")
	switch number := rapid.Int64Range(1, row.Call+2).Draw(t, "number"); rapid.IntRange(0, 3).Draw(t, "wrong") {
	case 0:
		row.Call, row.First = number, 0
	case 1:
		row.First = number
	case 2:
		row.Call, row.First = number, rapid.Int64Range(1, number).Draw(t, "first")
	default:
		row.Name += "x"
	}
	return append(rows, row)
}

// examined holds the examination of a record against loading it without code, and returns how many
// rows are refused.
func examined(t *rapid.T, d *driver, rows []core.Row) int {
	turns := decoded(t, d.turns)
	loaded := core.New(core.Config{}, d.start)
	refusal := loaded.Load(turns, rows, d.state)
	x := core.Examine(d.start)
	for rest := turns; len(rest) > 0; {
		n := rapid.IntRange(1, len(rest)).Draw(t, "part")
		if err := x.Turns(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	wrong := x.Rows(rows)
	switch {
	case refusal == nil && len(wrong) == 0:
		if a, b := loaded.Dump(), x.Dump(d.state); a != b {
			t.Fatalf("loaded it is\n%s\nand examined\n%s", a, b)
		}
	case refusal == nil || len(wrong) == 0 || wrong[0].Error() != refusal.Error():
		t.Fatalf("loading it says %v, the examination %v", refusal, wrong)
	}
	for _, err := range wrong {
		if _, is := errors.AsType[*history.DamageError](err); !is {
			t.Fatalf("what is wrong is no damage: %v", err)
		}
	}
	return len(wrong)
}
