package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/copying"
	"github.com/perdure/perdure/store/memory"
)

// newDatabase is the world's database, or the one into which it is copied.
func (w *world) newDatabase() *memory.Database {
	w.made++
	return memory.New(memory.Partitions([]int{1, 2, 5}[w.dice.of("partitions", w.made).below(3)]), memory.Clock(w.clock))
}

func (w *world) database() *memory.Database {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.db
}

// copyAll ends all processes and copies the database into another one, in which they continue. The
// copy fails and is killed on its way; some are undone, and the processes come back to where they were.
func (w *world) copyAll(d dice) {
	w.mu.Lock()
	was, busy := slices.Clone(w.alive), w.copying
	w.copying = true
	w.mu.Unlock()
	if busy {
		return
	}
	w.copies.Go(func() {
		from, to := w.database(), w.newDatabase()
		undone, until := d.of("undone").oneIn(5), d.of("until").below(20)
		for tries := 0; ; tries++ {
			w.stopAll(d)
			undo := undone && tries >= until
			done, err := w.tryCopy(from, to, undo, d.of("try", tries))
			w.trace.explain("copy, try %d, undo %t: %t, %v", tries, undo, done, err)
			if done && undo {
				break
			}
			if done && !undone {
				w.move(to)
				break
			}
			if _, is := errors.AsType[*copying.RefusedError](err); is || tries == 100 {
				w.complain("G1: the copy fails, try %d: %v", tries, err)
				break
			}
			time.Sleep(time.Second)
		}
		w.mu.Lock()
		w.copying = false
		w.mu.Unlock()
		for _, n := range was {
			w.again(n)
		}
	})
}

// stopAll ends all processes, some in good order.
func (w *world) stopAll(d dice) {
	w.mu.Lock()
	alive := slices.Clone(w.alive)
	w.mu.Unlock()
	for _, n := range alive {
		if d.of("leaves").of(n.name).oneIn(2) {
			w.leave(n, 2*time.Second)
		} else {
			n.die()
		}
	}
}

// tryCopy is a process that copies one database into the other one, or undoes that. It reports whether
// that is done.
func (w *world) tryCopy(from, to *memory.Database, undo bool, d dice) (done bool, err error) {
	ctx := context.Background()
	n := w.born(client, "copier", "1")
	defer n.die()
	c := &copying.Copy{Now: time.Now, Batch: 1 + d.of("batch").below(20)}
	source, err := from.Open(ctx)
	if err != nil {
		return false, err
	}
	defer source.Close()
	target, err := to.Open(ctx)
	if err != nil {
		return false, err
	}
	defer target.Close()
	c.From, c.To = &located{connection{source, n}, "the source"}, &located{connection{target, n}, "the target"}
	steps, last := 0, d.of("dies after").below(8)
	c.Progress = func(string, int64, int64) {
		if steps++; steps == last {
			n.die()
		}
	}
	if undo {
		err := c.Undo(ctx)
		seal, unknown := source.Sealed(ctx)
		return unknown == nil && !seal.Closed(), errors.Join(err, unknown)
	}
	result, err := c.Run(ctx)
	if err != nil {
		return false, err
	}
	w.trace.explain("copied: %+v", result.Sums)
	return true, nil
}

// move lets the world continue in another database.
func (w *world) move(to *memory.Database) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	w.db = to
	client := w.client
	w.mu.Unlock()
	w.model.copied()
	client.die()
}

// located is a database with a place of its own.
type located struct {
	connection
	at string
}

func (l *located) Info() store.Info {
	info := l.Store.Info()
	info.Location = l.at
	return info
}

func (l *located) Sealed(ctx context.Context) (store.Seal, error) {
	return look(ctx, &l.connection, "sealed "+l.at, func() (store.Seal, error) { return l.Store.Sealed(ctx) })
}

func (l *located) Seal(ctx context.Context, before, after store.Seal, rows *store.Rows) error {
	return only(ctx, &l.connection, vSeal, l.at, func() error { return l.Store.Seal(ctx, before, after, rows) }, nil)
}

func (l *located) Export(ctx context.Context, after store.Cursor, limit int) (*store.Rows, error) {
	return look(ctx, &l.connection, "export "+l.at, func() (*store.Rows, error) { return l.Store.Export(ctx, after, limit) })
}

// copied forgets what stayed behind: members, owners, the numbers of messages, who had claimed which
// task, and books of trial. All runs are at home.
func (m *model) copied() {
	m.members, m.places, m.consumed, m.tasks = map[string]*membership{}, map[int]*holding{}, map[int64]string{}, map[store.TaskRef]string{}
	db, _ := m.world.database().Open(m.world.t.Context())
	defer db.Close()
	group, _ := db.Group(m.world.t.Context(), "")
	for id, r := range m.runs {
		if r.ward, r.partition = 0, entity.Place(group, r.workflowID); entity.KindOf(id) == entity.Book {
			delete(m.runs, id)
			delete(m.latest, r.workflowID)
		}
	}
}
