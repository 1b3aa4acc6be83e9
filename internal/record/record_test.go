package record

import (
	"reflect"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

func TestWhatIsSavedIsLoaded(t *testing.T) {
	of := store.RunRef{Partition: 3, Run: "r"}
	rows := []core.Row{{Call: 7, State: core.Backoff, Name: "charge", Queue: "q", Attempt: 2, Due: 5, Data: []byte("{}")}}
	calls := StoreRows(of, rows)
	if got := Rows(calls); !reflect.DeepEqual(got, rows) {
		t.Errorf("rows became %+v", got)
	}
	if calls[0].Partition != 3 || calls[0].Run != "r" {
		t.Errorf("the row is that of run %q in partition %d", calls[0].Run, calls[0].Partition)
	}
	state := core.State{Status: core.StatusParked, Wake: 1, Closed: 2, Detail: []byte("d"), Full: true}
	if got := State(StoreState(state)); !reflect.DeepEqual(got, state) {
		t.Errorf("the state became %+v", got)
	}
	attributes := map[string]string{"customer": "ann", "region": "eu"}
	if got := Attributes(StoreAttributes(attributes)); !reflect.DeepEqual(got, attributes) {
		t.Errorf("attributes became %v", got)
	}
}

func TestANewRunIsDueWhenItsFirstTurnIs(t *testing.T) {
	for first, wake := range map[int64]int64{0: store.Hot, 17: 17} {
		start := history.Start{WorkflowID: "w", Run: "r", Type: "flow", Chain: "r", Attempt: 1, FirstTurn: first}
		row, err := NewRun(5, &start)
		if err != nil {
			t.Fatal(err)
		}
		if row.Wake != wake || row.Status != store.Running || row.Partition != 5 {
			t.Errorf("with its first turn at %d the row is %+v", first, row)
		}
		past, err := Decode(&store.Record{Run: *row})
		if err != nil || past.Start.WorkflowID != "w" || past.State.Wake != wake {
			t.Errorf("it is read as %+v, %v", past, err)
		}
	}
}

func TestTalliesCountByTheHour(t *testing.T) {
	tallies := Tallies("flow", 3*int64(TallySpan)+5, []core.Tally{{Name: "charge", FirstTry: 2}})
	if len(tallies) != 1 || tallies[0].Bucket != 3*int64(TallySpan) || tallies[0].Type != "flow" || tallies[0].FirstTry != 2 {
		t.Errorf("counted %+v", tallies)
	}
}

func TestADamagedTurnIsNamed(t *testing.T) {
	_, err := Turns([]store.TurnRow{{Number: 4, Events: []byte("{")}})
	if err == nil || err.Error()[:7] != "turn 4:" {
		t.Errorf("the error is %v", err)
	}
}
