package postgres

import (
	"fmt"

	"github.com/perdure/perdure/store"
)

// PostgreSQL allows a gigabyte per value, and an array is one value.
const (
	most    = 64 << 20  // bytes of turns that share a transaction
	mostOne = 256 << 20 // bytes of one turn; bytes that are not text take twice the space
)

// size returns the number of bytes in a turn, not counting names.
func size(t *store.Turn) int {
	n := len(t.Events)
	if t.Create != nil {
		n += len(t.Create.Start) + len(t.Create.Detail)
		if t.Create.Base != nil {
			n += len(t.Create.Base.Last.Events)
		}
	}
	if t.State != nil {
		n += len(t.State.Detail)
	}
	for i := range t.Calls {
		n += len(t.Calls[i].Data)
	}
	for i := range t.Attempts {
		n += len(t.Attempts[i].Data)
	}
	for i := range t.Messages {
		n += len(t.Messages[i].Data)
	}
	for i := range t.Offered {
		n += len(t.Offered[i].Data)
	}
	return n
}

// small returns an error if the turn is larger than the database allows.
func small(t *store.Turn) error {
	if n := size(t); n > mostOne {
		return fmt.Errorf("turn %d of run %q has %d bytes; PostgreSQL takes %d in one turn: keep large data elsewhere and pass a reference", t.Number, t.Run, n, mostOne)
	}
	return nil
}
