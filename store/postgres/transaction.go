package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// fingerprint identifies a database over any connection: by its secret, which needs no
// configuration.
const fingerprint = `encode(sha256(convert_to(value, 'UTF8')), 'hex') FROM perdure.meta WHERE key = 'secret'`

// errElsewhere says that a transaction is in another database.
var errElsewhere = errors.New("it is in another database, or its user may not read perdure's tables there")

// guest is this database inside a transaction that the caller began and will end.
type guest struct {
	h  *handle
	tx transaction
}

// transaction is a transaction of any driver.
type transaction interface {
	sender
	// script runs statements without parameters and results.
	script(ctx context.Context, statements ...string) error
	// lost reports whether an error means that the connection is gone.
	lost(err error) bool
	// conn returns the connection if it is one of pgx. It may only be compared.
	conn() *pgx.Conn
}

func (h *handle) Within(tx any) (store.Transaction, error) {
	if v := reflect.ValueOf(tx); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: it is nil", store.ErrTx)
	}
	switch tx := tx.(type) {
	case pgx.Tx:
		return &guest{h, pgxTransaction{tx}}, nil
	case *sql.Tx:
		if lent, ours := h.lent.Load(tx); ours {
			return &guest{h, pgxTransaction{lent.(pgx.Tx)}}, nil
		}
		return &guest{h, sqlTransaction{tx}}, nil
	}
	return nil, fmt.Errorf("%w: it is a %T; take a pgx.Tx or a *sql.Tx of a connection to %s", store.ErrTx, tx, h.info.Location)
}

// pgxTransaction is a transaction of pgx, with or without a pool.
type pgxTransaction struct{ pgx.Tx }

func (t pgxTransaction) conn() *pgx.Conn { return t.Conn() }

func (t pgxTransaction) lost(error) bool { return t.Conn() != nil && t.Conn().IsClosed() }

func (t pgxTransaction) script(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := t.Exec(ctx, s, pgx.QueryExecModeSimpleProtocol); err != nil {
			return foreign(err)
		}
	}
	return nil
}

// The savepoint around a verb: a failed verb leaves nothing behind and does not end the
// transaction.
const (
	enter   = `SAVEPOINT perdure_guest`
	leave   = `RELEASE SAVEPOINT perdure_guest`
	retreat = `ROLLBACK TO SAVEPOINT perdure_guest`
)

// perform runs a verb inside the savepoint. Sending with attempt leaves the savepoint.
func (g *guest) perform(ctx context.Context, op string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil { // a transaction that no connection made
			err = fmt.Errorf("%w: it panics: %v", store.ErrTx, p)
		}
	}()
	if err := g.tx.script(ctx, enter); err != nil {
		return g.explain(op, err)
	}
	if err := f(); err != nil {
		// If the connection is gone, so is the transaction.
		_ = g.tx.script(context.WithoutCancel(ctx), retreat, leave)
		return g.explain(op, err)
	}
	return nil
}

// attempt sends statements, after checking that they go to the right database, and leaves
// the savepoint.
func (g *guest) attempt(ctx context.Context, fill func(b *batch)) error {
	return g.h.send(ctx, g.tx, func(b *batch) {
		b.do(`SELECT CASE WHEN mark <> $1 THEN perdure.refuse('`+otherDatabase+`', 'another database') END FROM (SELECT `+fingerprint+`) f (mark)`, b.h.mark)
		b.bind()
		fill(b)
		b.do(leave)
	})
}

// news notifies listeners when the transaction is committed. One of the store's own
// transactions does that itself after the commit.
func (g *guest) news(b *batch) {
	if c, ours := g.h.lent.Load(g.tx.conn()); ours {
		c.(*conn).guests.Store(true)
		return
	}
	b.notifyInside(store.NewsMessage)
}

func (g *guest) Create(ctx context.Context, run store.Run) error {
	if err := run.Validate(g.h.info); err != nil {
		return err
	}
	return g.perform(ctx, "Create", func() error {
		if err := g.known(ctx, run.Partition); err != nil {
			return err
		}
		p := plan{turn: creation(&run)}
		create := func(b *batch) {
			b.create(p)
			g.news(b)
		}
		err := g.attempt(ctx, create)
		for n := 0; n < retries && code(err) == uniqueViolation; n++ {
			if err := g.tx.script(ctx, retreat); err != nil {
				return err
			}
			sights := make([]sight, 1)
			if err := g.h.send(ctx, g.tx, func(b *batch) { b.lookForRuns([]*store.Turn{&p.turn}, sights) }); err != nil {
				return err
			}
			if err := sights[0].place(&p); err != nil {
				return err
			}
			if p.turn.Create == nil { // it exists already
				return g.attempt(ctx, func(*batch) {})
			}
			err = g.attempt(ctx, create)
		}
		if code(err) == uniqueViolation {
			return g.hidden(ctx, run.WorkflowID)
		}
		return err
	})
}

// known returns an error if the partition does not exist.
func (g *guest) known(ctx context.Context, partition int) error {
	if int64(partition) < g.h.partitions.Load() {
		return nil
	}
	var n int64
	err := g.h.send(ctx, g.tx, func(b *batch) {
		b.query(countPartitions, []any{b.h.info.Partitions}, func(r pgx.Rows) error { return r.Scan(&n) })
	})
	if err == nil && int64(partition) >= n {
		err = store.NoPartition(partition)
	}
	return err
}

// hidden makes the server report itself that the transaction has to be repeated: programs
// that do so look for its error.
func (g *guest) hidden(ctx context.Context, workflowID string) error {
	if err := g.tx.script(ctx, retreat); err != nil {
		return err
	}
	return g.h.send(ctx, g.tx, func(b *batch) {
		b.do(`SELECT perdure.refuse('`+serializationFailure+`', $1)`,
			fmt.Sprintf("workflow ID %q was taken by a transaction that this one cannot see; do this one again", workflowID))
	})
}

func (g *guest) Post(ctx context.Context, m store.Message) error {
	if err := m.Validate(g.h.info); err != nil {
		return err
	}
	var p posting
	err := g.perform(ctx, "Post", func() error {
		post := (*batch).post
		if g.h.distributed {
			post = (*batch).postSeen
			if err := g.h.send(ctx, g.tx, func(b *batch) { b.seek(&m, &p) }); err != nil {
				return err
			}
		}
		return g.attempt(ctx, func(b *batch) {
			post(b, &m, &p)
			g.news(b)
		})
	})
	return cmp.Or(err, p.refusal())
}

func (g *guest) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	query, args, err := g.h.findQuery(partition, workflowID, run)
	if err != nil {
		return nil, err
	}
	var found []store.Run
	err = g.perform(ctx, "Find", func() error {
		return g.attempt(ctx, func(b *batch) { b.query(query, args, into(&found, runFields)) })
	})
	return foundRun(found, err)
}

// errLost says that the connection of a transaction is gone.
var errLost = errors.New("the connection was lost, and the transaction with it: nothing of it was written; begin it again")

// explain adds a description to an error. It keeps the driver's error, which programs check
// to decide whether to repeat their transaction. If the connection is lost the error is an
// *store.UnavailableError too.
func (g *guest) explain(op string, err error) error {
	d, ok := errors.AsType[*driverError](err)
	if !ok {
		return err
	}
	switch code(err) {
	case otherDatabase, undefinedSchema, undefinedTable:
		return fmt.Errorf("%w: %w; the engine's is %s: %w", store.ErrTx, errElsewhere, g.h.info.Location, d.err)
	case insufficientRights:
		return fmt.Errorf("%s: the transaction's user lacks a right: grant it USAGE on the schema %s and its sequences, and SELECT, INSERT and UPDATE on its tables: %w", op, g.h.schema, d.err)
	case readOnly:
		return fmt.Errorf("%s: the transaction may only read: %w", op, d.err)
	case inFailedTransaction:
		return fmt.Errorf("%s: the transaction has failed before: %w", op, d.err)
	}
	if errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("%s: %w: it has ended: %w", op, store.ErrTx, d.err)
	}
	if c := code(err); strings.HasPrefix(c, "57P") || strings.HasPrefix(c, "08") || g.tx.lost(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return &store.UnavailableError{Op: op, Err: fmt.Errorf("%w: %w", errLost, d.err), Undone: true}
	}
	return fmt.Errorf("%s, within the transaction: %w", op, d.err)
}
