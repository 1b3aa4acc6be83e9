package memory

import (
	"slices"

	"github.com/perdure/perdure/store"
)

// hasPast reports whether the turns exist that a new run is to begin with.
func (db *Database) hasPast(b *store.Base) bool {
	if b == nil || b.Turns == 0 {
		return true
	}
	p := db.partition(b.Partition)
	if p == nil || p.runs[b.Run] == nil {
		return false
	}
	last, found := p.runs[b.Run].findTurn(b.Turns)
	return found && int64(last) == b.Turns-1
}

// past returns the history that a new run begins with.
func (db *Database) past(b *store.Base) (turns []store.TurnRow) {
	if b == nil {
		return nil
	}
	if b.Turns > 0 {
		r := db.partition(b.Partition).runs[b.Run]
		last, _ := r.findTurn(b.Turns) // hasPast found it
		turns = slices.Clone(r.turns[:last+1])
	}
	for i := range turns {
		turns[i].Epoch = 0
	}
	return append(turns, b.Last)
}
