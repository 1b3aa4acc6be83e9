package copying

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// usualBatch is the Batch of a Copy that has none.
const usualBatch = 500

// Copy copies a database into another one, which is empty. Both are open stores without codecs.
type Copy struct {
	From, To store.Store
	Now      func() time.Time
	Batch    int // about how many rows of a kind are written in one transaction; 0: 500

	// Progress is called after each transaction with the number of runs so far and of all. nil:
	// it is not called.
	Progress func(step string, runs, of int64)
}

// Result is what a copy did.
type Result struct {
	Seal store.Seal // of the target
	Sums Sums       // of the rows in the target
	Left int64      // books of runs whose code is tried, which stay behind
	Went bool       // the copy continued one that an earlier process began
	Done bool       // an earlier one had done it all
}

// note is what the target knows of the progress.
type note struct {
	After store.Cursor `json:"after"`
	Sums  Sums         `json:"sums"`
	Clock int64        `json:"clock"` // the highest time in the rows so far, ns
	Left  int64        `json:"left,omitempty"`
}

func (n note) text() string {
	text, _ := json.Marshal(n) // cannot fail
	return string(text)
}

// A RefusedError says why a copy cannot be made or undone, and what to do.
type RefusedError struct{ What, Hint string }

func (e *RefusedError) Error() string { return e.What + " " + e.Hint }

func refuse(hint, what string, values ...any) error {
	return &RefusedError{fmt.Sprintf(what, values...), hint}
}

// Count reads all rows of the source and writes nothing. It returns the sums of those that would be
// copied.
func (c *Copy) Count(ctx context.Context) (Sums, error) {
	sums := Sums{}
	err := c.read(ctx, c.From, "counted", func(rows *store.Rows) {
		leaveBehind(rows)
		sums.Add(rows)
	})
	return sums, err
}

// read reads all rows of a database.
func (c *Copy) read(ctx context.Context, db store.Store, step string, do func(rows *store.Rows)) error {
	total, err := runsOf(ctx, db)
	if err != nil {
		return err
	}
	runs := int64(0)
	for at := (store.Cursor{}); at.Part != store.CopyEnd; {
		rows, err := db.Export(ctx, at, cmp.Or(c.Batch, usualBatch))
		if err != nil {
			return err
		}
		do(rows)
		runs, at = runs+int64(len(rows.Runs)), rows.Next
		c.tell(step, runs, total)
	}
	return nil
}

func (c *Copy) tell(step string, runs, of int64) {
	if c.Progress != nil {
		c.Progress(step, runs, max(runs, of))
	}
}

// runsOf counts the runs of a database, for an estimate.
func runsOf(ctx context.Context, db store.Store) (total int64, err error) {
	counts, err := db.Counts(ctx, nil, 0)
	for _, n := range counts.Runs {
		total += int64(n)
	}
	return total, err
}

// Run makes the copy, or continues with the one that an earlier process began. It is safe to
// repeat after every error.
func (c *Copy) Run(ctx context.Context) (*Result, error) {
	seal, went, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	if seal.State == store.SealOpened {
		var done note
		err := json.Unmarshal([]byte(seal.Note), &done)
		return &Result{Seal: seal, Sums: done.Sums, Left: done.Left, Went: true, Done: true}, err
	}
	if seal, err = c.transfer(ctx, seal); err != nil {
		return nil, err
	}
	return c.complete(ctx, seal, went)
}

// begin closes both databases, if that is not done yet, and returns the seal of the target.
func (c *Copy) begin(ctx context.Context) (target store.Seal, went bool, err error) {
	from, to := c.From.Info(), c.To.Info()
	for _, info := range []store.Info{from, to} {
		if !info.Closes {
			return target, false, refuse("Copy an SQLite file or a PostgreSQL database on one server.", "%s cannot be copied: its tables are distributed over several servers.", info.Location)
		}
	}
	if from.Location == to.Location {
		return target, false, refuse("Name another one with --to.", "%s would be copied into itself.", from.Location)
	}
	source, err := c.From.Sealed(ctx)
	if err != nil {
		return target, false, err
	}
	if target, err = c.To.Sealed(ctx); err != nil {
		return target, false, err
	}
	ours := source.State == store.SealedSource && target.Copy == source.Copy
	switch {
	case ours:
		return target, true, nil
	case source.State == store.SealedTarget:
		return target, false, &store.SealedError{Location: from.Location, Seal: source}
	case source.State == store.SealedSource && source.Other != to.Location:
		return target, false, refuse("Let that copy finish, or undo it with --unseal and the same --to.", "%s is copied to %s already.", from.Location, source.Other)
	case target.Closed():
		return target, false, &store.SealedError{Location: to.Location, Seal: target}
	}
	if err := c.demandEmpty(ctx); err != nil {
		return target, false, err
	}
	reopen := func(err error) error { return err }
	if !source.Closed() {
		was, closed := source, store.Seal{State: store.SealedSource, Copy: ident.NewToken(), Other: to.Location, Since: c.Now().UnixNano(), Clock: source.Clock}
		if err := c.From.Seal(ctx, was, closed, nil); err != nil {
			return target, false, err
		}
		source = closed
		reopen = func(err error) error { // unless the target may have been closed
			if store.Unavailable(err) && !store.Undone(err) && !store.Refused(err) {
				return err
			}
			return errors.Join(err, c.From.Seal(context.WithoutCancel(ctx), closed, was, nil))
		}
	}
	filled := store.Seal{State: store.SealedTarget, Copy: source.Copy, Other: from.Location, Since: source.Since, Note: note{Sums: Sums{}}.text()}
	if err := c.To.Seal(ctx, target, filled, nil); err != nil {
		return target, false, reopen(err)
	}
	if err := c.demandEmpty(ctx); err != nil { // nobody writes to it any more
		if later := c.To.Seal(ctx, filled, target, nil); later != nil {
			return target, false, errors.Join(err, later)
		}
		return target, false, reopen(err)
	}
	return filled, false, nil
}

// demandEmpty returns an error if the target has rows.
func (c *Copy) demandEmpty(ctx context.Context) error {
	for at := (store.CopyFacts).Follow(); at.Part != store.CopyEnd; {
		rows, err := c.To.Export(ctx, at, 1)
		if err != nil {
			return err
		}
		if len(rows.Runs)+len(rows.Messages)+len(rows.Tallies)+len(rows.Switches) > 0 {
			return refuse("Name a new file or schema with --to; perdure makes it.", "%s is not empty.", c.To.Info().Location)
		}
		at = rows.Next
	}
	return nil
}

// transfer writes the rows that are not in the target yet.
func (c *Copy) transfer(ctx context.Context, seal store.Seal) (store.Seal, error) {
	var done note
	if err := json.Unmarshal([]byte(seal.Note), &done); err != nil {
		return seal, fmt.Errorf("%s: what is noted of the copy cannot be read: %w", c.To.Info().Location, err)
	}
	facts, err := c.From.Export(ctx, store.Cursor{}, 1)
	if err != nil {
		return seal, err
	}
	p := places{facts.Facts.Groups, map[string]store.Group{}}
	for _, g := range p.from {
		if p.to[g.Name], err = c.To.Group(ctx, g.Name); err != nil {
			return seal, err
		}
	}
	total, err := runsOf(ctx, c.From)
	if err != nil {
		return seal, err
	}
	ahead := c.ahead(ctx, done.After)
	defer ahead.stop()
	for done.After.Part != store.CopyEnd {
		rows, err := ahead.next()
		if err != nil {
			return seal, err
		}
		left, err := p.move(rows)
		if err != nil {
			return seal, err
		}
		done.Sums.Add(rows)
		done.After, done.Clock, done.Left = rows.Next, max(done.Clock, latest(rows)), done.Left+int64(left)
		next := seal
		next.Note = done.text()
		if err := c.To.Seal(ctx, seal, next, rows); err != nil {
			if errors.Is(err, store.ErrStale) {
				err = refuse("Wait until it ends.", "Another process copies into %s.", c.To.Info().Location)
			}
			return seal, err
		}
		seal = next
		c.tell("copied", done.Sums["runs"].Rows, total)
	}
	return seal, nil
}

// latest returns the highest time of rows at which something happened.
func latest(rows *store.Rows) (at int64) {
	if rows.Facts != nil {
		at = rows.Facts.Clock
	}
	for i := range rows.Runs {
		w := &rows.Runs[i]
		at = max(at, w.Run.Created)
		if n := len(w.Turns); n > 0 {
			at = max(at, w.Turns[n-1].Time)
		}
		for k := range w.Attempts {
			at = max(at, w.Attempts[k].Ended)
		}
		for k := range w.Tasks {
			at = max(at, w.Tasks[k].Claimed)
		}
	}
	for i := range rows.Messages {
		at = max(at, rows.Messages[i].Posted)
	}
	return at
}

// reader reads rows while the ones before are written.
type reader struct {
	rows chan *store.Rows
	err  error // set before rows is closed
	stop func()
}

func (c *Copy) ahead(ctx context.Context, at store.Cursor) *reader {
	ctx, cancel := context.WithCancel(ctx)
	r := &reader{rows: make(chan *store.Rows, 1)}
	r.stop = func() {
		cancel()
		for range r.rows { // until it has ended
		}
	}
	go func() {
		defer close(r.rows)
		for at.Part != store.CopyEnd {
			rows, err := c.From.Export(ctx, at, cmp.Or(c.Batch, usualBatch))
			if err != nil {
				r.err = err
				return
			}
			at = rows.Next
			select {
			case r.rows <- rows:
			case <-ctx.Done():
				r.err = ctx.Err()
				return
			}
		}
	}()
	return r
}

func (r *reader) next() (*store.Rows, error) {
	if rows, ok := <-r.rows; ok {
		return rows, nil
	}
	return nil, r.err
}

// complete compares the sums and opens the target.
func (c *Copy) complete(ctx context.Context, seal store.Seal, went bool) (*Result, error) {
	var done note
	if err := json.Unmarshal([]byte(seal.Note), &done); err != nil {
		return nil, err
	}
	found := Sums{}
	if err := c.read(ctx, c.To, "verified", func(rows *store.Rows) { found.Add(rows) }); err != nil {
		return nil, err
	}
	if differences := done.Sums.Differ(found); differences != nil {
		return nil, refuse("Both stay closed. Drop the target and undo the copy with --unseal, and report this.",
			"%s is not what was written into it: %s.", c.To.Info().Location, strings.Join(differences, "; "))
	}
	source, err := c.From.Sealed(ctx)
	if err == nil && source.Copy != seal.Copy {
		err = refuse("Drop the target and begin again.", "The copy of %s was undone meanwhile.", c.From.Info().Location)
	}
	if err != nil {
		return nil, err
	}
	facts, err := c.From.Export(ctx, store.Cursor{}, 1)
	if err != nil {
		return nil, err
	}
	opened := seal
	opened.State, opened.Clock = store.SealOpened, done.Clock+1
	// What is said from now on is later than everything that was said before.
	facts.Facts.Clock = opened.Clock
	if err := c.To.Seal(ctx, seal, opened, &store.Rows{Facts: facts.Facts}); err != nil {
		return nil, err
	}
	return &Result{Seal: opened, Sums: done.Sums, Left: done.Left, Went: went}, nil
}

// Undo opens the source, if nothing has run in the target, which stays closed.
func (c *Copy) Undo(ctx context.Context) error {
	source, err := c.From.Sealed(ctx)
	if err != nil {
		return err
	}
	switch {
	case source.State != store.SealedSource:
		return refuse("Engines can use it.", "%s was not closed by a copy.", c.From.Info().Location)
	case source.Other != c.To.Info().Location:
		return refuse("Name that one with --to.", "%s was copied to %s, not to %s.", c.From.Info().Location, source.Other, c.To.Info().Location)
	}
	target, err := c.To.Sealed(ctx)
	if err != nil {
		return err
	}
	if target.Copy == source.Copy && target.State == store.SealOpened {
		if target, err = c.shut(ctx, target, source.Since); err != nil {
			return err
		}
	}
	if target.Copy == source.Copy { // a copier that still runs cannot open it then
		undone := target
		undone.Note = ""
		if err := c.To.Seal(ctx, target, undone, nil); err != nil {
			return err
		}
	}
	open := store.Seal{}
	if source.Clock > 0 { // it was copied before
		open = source
		open.State = store.SealOpened
	}
	return c.From.Seal(ctx, source, open, nil)
}

// shut closes a complete target, unless something happened in it.
func (c *Copy) shut(ctx context.Context, target store.Seal, since int64) (closed store.Seal, err error) {
	var done note
	if err := json.Unmarshal([]byte(target.Note), &done); err != nil {
		return target, err
	}
	closed = target
	closed.State = store.SealedTarget
	if err := c.To.Seal(ctx, target, closed, nil); err != nil {
		return target, err
	}
	nodes, err := c.To.Nodes(ctx)
	nodes = slices.DeleteFunc(nodes, func(m store.Member) bool { return m.Joined < since })
	found := Sums{}
	if err == nil {
		err = c.read(ctx, c.To, "compared", func(rows *store.Rows) { found.Add(rows) })
	}
	differences := done.Sums.Differ(found)
	switch {
	case err != nil:
	case len(nodes) > 0:
		err = refuse("Use that database. To come back, copy it into a new file or schema "+see.Copying+".", "An engine has run in %s: %s.", c.To.Info().Location, nodes[0].Name)
	case differences != nil:
		err = refuse("Use that database. To come back, copy it into a new file or schema "+see.Copying+".", "%s has changed since the copy: %s.", c.To.Info().Location, strings.Join(differences, "; "))
	default:
		return closed, nil
	}
	return target, errors.Join(err, c.To.Seal(context.WithoutCancel(ctx), closed, target, nil))
}
