package codec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/store"
)

// Swept is the result of Sweep.
type Swept struct {
	Kept    int // blobs that documents need
	Removed int // blobs that none needs any more
}

// Sweep deletes the blobs that no document of the database needs: those of deleted runs,
// of replaced rows and of turns that were not written. It reads the whole database, which
// must be the only one that uses these blobs. If Offload was the last codec, it needs no
// keys: db is the store itself, without Over. It may run beside engines.
//
// Sweep keeps blobs that were put less than keep ago, at least an hour, because a turn
// that needs them may be about to be written. Choose more than the duration of a sweep
// and more than the age of your oldest backup: Sweep does not know what a backup needs.
func Sweep(ctx context.Context, db store.Opener, blobs Blobs, keep time.Duration) (Swept, error) {
	if keep < time.Hour {
		return Swept{}, fmt.Errorf("codec.Sweep: blobs are to be kept for %s; that is at least an hour, for turns on their way need them", keep)
	}
	before := time.Now().Add(-keep)
	s, err := db.Open(ctx)
	if err != nil {
		return Swept{}, err
	}
	needed, err := (&sweeper{ctx: ctx, db: s, needed: map[string]bool{}}).look()
	if err = errors.Join(err, s.Close()); err != nil {
		return Swept{}, fmt.Errorf("codec.Sweep: nothing was removed: %w", err)
	}
	var out Swept
	var old []string
	err = blobs.Names(ctx, before, func(name string) error {
		if needed[name] {
			out.Kept++
		} else {
			old = append(old, name)
		}
		return nil
	})
	for _, name := range old {
		if err != nil {
			break
		}
		if err = blobs.Delete(ctx, name, before); err == nil {
			out.Removed++
		}
	}
	return out, err
}

type sweeper struct {
	ctx    context.Context
	db     store.Store
	needed map[string]bool
}

// look returns the names of the blobs that documents need. Runs that came while it looked
// may be forks of others that were then deleted: they are looked at as well.
func (s *sweeper) look() (map[string]bool, error) {
	newest := ""
	for range 2 {
		above := newest
		for _, status := range [][]store.Status{nil, {store.Standing}} {
			if err := s.runs(store.Filter{Status: status, Above: above, Limit: 500}, &newest); err != nil {
				return nil, err
			}
		}
	}
	return s.needed, nil
}

func (s *sweeper) runs(f store.Filter, newest *string) error {
	for {
		rows, err := s.db.List(s.ctx, f)
		if err != nil {
			return err
		}
		for i := range rows {
			if f.Status == nil {
				*newest = max(*newest, rows[i].ID)
			}
			if err := s.run(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < f.Limit {
			return nil
		}
		f.Before = rows[len(rows)-1].ID
	}
}

func (s *sweeper) run(r *store.Run) error {
	docs := [][]byte{r.Start, r.Detail}
	calls, err := s.db.Calls(s.ctx, r.Partition, r.ID)
	if err != nil {
		return err
	}
	for i := range calls {
		docs = append(docs, calls[i].Data)
	}
	attempts, err := s.db.Attempts(s.ctx, r.Partition, r.ID, store.AttemptRange{})
	if err != nil {
		return err
	}
	for i := range attempts {
		docs = append(docs, attempts[i].Data)
	}
	tasks, err := s.db.Tasks(s.ctx, store.TaskFilter{Partitions: []int{r.Partition}, Run: r.ID, Limit: math.MaxInt32})
	if err != nil {
		return err
	}
	for i := range tasks {
		docs = append(docs, tasks[i].Data)
	}
	for after := int64(0); ; {
		turns, err := s.db.History(s.ctx, r.Partition, r.ID, after, 500)
		if err != nil {
			return err
		}
		if len(turns) == 0 {
			return s.need(docs)
		}
		for i := range turns {
			docs, after = append(docs, turns[i].Events), turns[i].Number
		}
	}
}

func (s *sweeper) need(docs [][]byte) error {
	for _, d := range docs {
		if !envelope.Is(d) {
			continue
		}
		e, err := envelope.Parse(d)
		if err != nil {
			return err // it may need any blob
		}
		for _, layer := range e.Layers {
			if layer.Codec == offloadName {
				s.needed[layer.Label] = true
			}
		}
	}
	return nil
}
