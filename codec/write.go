package codec

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/store"
)

// coded is a store whose documents pass through codecs. A test names the verbs of the store that it
// passes on, so that a new one is not passed on unseen.
type coded struct {
	transaction
	passed
}

// passed is the verbs of a store, of which those stand back that coded or transaction has as well.
type passed struct{ store.Store }

// transaction is the verbs that a client has in a transaction, too.
type transaction struct {
	chain
	tx store.Transaction
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func startAt(r *store.Run) Place { return Place{Kind: KindStart, WorkflowID: r.WorkflowID, Run: r.ID} }
func stateAt(run string) Place   { return Place{Kind: KindState, Run: run} }
func turnAt(run string, n int64) Place {
	return Place{Kind: KindTurn, Run: run, Item: number(n)}
}
func callAt(run string, n int64) Place { return Place{Kind: KindCall, Run: run, Item: number(n)} }
func attemptAt(run string, call int64, n int) Place {
	return Place{Kind: KindAttempt, Run: run, Item: number(call) + "." + strconv.Itoa(n)}
}
func messageAt(m *store.Message) Place {
	return Place{Kind: KindMessage, WorkflowID: m.WorkflowID, Item: m.Kind}
}

// encodeAll encodes documents where they stand.
func (c chain) encodeAll(ctx context.Context, docs ...doc) error {
	for _, d := range docs {
		out, err := c.encode(ctx, d.at, *d.data)
		if err != nil {
			return err
		}
		*d.data = out
	}
	return nil
}

type doc struct {
	at   Place
	data *[]byte
}

// The documents of what a store writes and reads.

func ofRun(r *store.Run) []doc         { return []doc{{startAt(r), &r.Start}, {stateAt(r.ID), &r.Detail}} }
func ofCall(c *store.Call) []doc       { return []doc{{callAt(c.Run, c.Number), &c.Data}} }
func ofAttempt(a *store.Attempt) []doc { return []doc{{attemptAt(a.Run, a.Call, a.Number), &a.Data}} }
func ofMessage(m *store.Message) []doc { return []doc{{messageAt(m), &m.Data}} }

func ofWaiting(c *store.WaitingCall) []doc { return ofCall(&c.Call) }
func ofEntry(e *store.LedgerEntry) []doc   { return ofAttempt(&e.Attempt) }
func ofErrors(g *store.ErrorGroup) []doc   { return ofEntry(&g.Example) }

// run returns a new run with its documents encoded.
func (c chain) run(ctx context.Context, r store.Run) (store.Run, error) {
	docs := ofRun(&r)
	if r.Base != nil {
		base := *r.Base
		r.Base = &base
		docs = append(docs, doc{turnAt(r.ID, base.Last.Number), &base.Last.Events})
	}
	err := c.encodeAll(ctx, docs...)
	return r, err
}

func (c chain) message(ctx context.Context, m store.Message) (store.Message, error) {
	err := c.encodeAll(ctx, ofMessage(&m)...)
	return m, err
}

// turn returns a turn with its documents encoded.
func (c chain) turn(ctx context.Context, t store.Turn) (store.Turn, error) {
	docs := []doc{{turnAt(t.Run, t.Number), &t.Events}}
	if t.Create != nil {
		r, err := c.run(ctx, *t.Create)
		if err != nil {
			return t, err
		}
		t.Create = &r
	}
	if t.State != nil {
		state := *t.State
		t.State = &state
		docs = append(docs, doc{stateAt(t.Run), &state.Detail})
	}
	t.Calls, t.Attempts, t.Messages = slices.Clone(t.Calls), slices.Clone(t.Attempts), slices.Clone(t.Messages)
	for i := range t.Calls {
		docs = append(docs, doc{callAt(t.Run, t.Calls[i].Number), &t.Calls[i].Data})
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		docs = append(docs, doc{attemptAt(t.Run, a.Call, a.Number), &a.Data})
	}
	for i := range t.Messages {
		docs = append(docs, ofMessage(&t.Messages[i])...)
	}
	if err := c.offered(ctx, &t); err != nil {
		return t, err
	}
	err := c.encodeAll(ctx, docs...)
	return t, err
}

// Move implements store.Owner.
func (s *coded) Move(ctx context.Context, m store.Move) error {
	if m.Detail != nil {
		if err := s.encodeAll(ctx, doc{stateAt(m.Run), &m.Detail}); err != nil {
			return err
		}
	}
	return s.Store.Move(ctx, m)
}

// Commit implements store.Owner. A turn that cannot be encoded is refused, and the others
// are written.
func (s *coded) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	errs := make([]error, len(turns))
	out, places := make([]store.Turn, 0, len(turns)), make([]int, 0, len(turns))
	for i := range turns {
		t, err := s.turn(ctx, turns[i])
		switch {
		case err == nil:
			out, places = append(out, t), append(places, i)
		case ctx.Err() != nil:
			return store.Result{}, ctx.Err()
		default:
			errs[i] = err
		}
	}
	result, err := s.Store.Commit(ctx, out)
	if err != nil {
		return result, err
	}
	for i, at := range places {
		errs[at] = s.decodeConflict(ctx, result.Errors[i])
	}
	result.Errors = errs
	return result, nil
}

// decodeConflict decodes the run in the error of a workflow ID that is taken.
func (c chain) decodeConflict(ctx context.Context, err error) error {
	conflict, is := errors.AsType[*store.ConflictError](err)
	if !is {
		return err
	}
	if later := c.decodeAll(ctx, ofRun(&conflict.Existing)...); later != nil {
		return later
	}
	return err
}

// Switch implements store.Client. Why is text in a column: it is encoded as text.
func (s *coded) Switch(ctx context.Context, w store.Switch) (store.Switch, error) {
	if err := w.Validate(); err != nil {
		return w, err // what is wrong with the text cannot be seen when it is encoded
	}
	b, err := s.encode(ctx, Place{Kind: KindSwitch, WorkflowID: w.Group, Item: w.Request}, []byte(w.Why))
	if err != nil {
		return w, err
	}
	if e, err := envelope.Parse(b); envelope.Is(b) && err == nil {
		w.Why = "(" + e.Shown + ")" + switchMark + base64.StdEncoding.EncodeToString(b)
	}
	out, err := s.Store.Switch(ctx, w)
	if err != nil {
		return out, err
	}
	return out, s.decodeSwitch(ctx, &out)
}

// switchMark stands between what people without codecs read and what is encoded.
const switchMark = " \u2063coded:"

func (s *coded) decodeSwitch(ctx context.Context, w *store.Switch) error {
	shown, text, is := strings.Cut(w.Why, switchMark)
	b, err := base64.StdEncoding.DecodeString(text)
	if !is || err != nil || !envelope.Is(b) {
		return nil
	}
	b, err = s.decode(ctx, Place{Kind: KindSwitch, WorkflowID: w.Group, Item: w.Request}, b)
	if err != nil {
		return err
	}
	w.Why = shown
	if !envelope.Is(b) {
		w.Why = string(b)
	}
	return nil
}

// Within implements store.Client.
func (s *coded) Within(tx any) (store.Transaction, error) {
	inner, err := s.Store.Within(tx)
	if err != nil {
		return nil, err
	}
	return &transaction{s.chain, inner}, nil
}

// Create implements store.Client and store.Transaction.
func (t *transaction) Create(ctx context.Context, run store.Run) error {
	r, err := t.run(ctx, run)
	if err != nil {
		return err
	}
	return t.decodeConflict(ctx, t.tx.Create(ctx, r))
}

// Post implements store.Client and store.Transaction.
func (t *transaction) Post(ctx context.Context, m store.Message) error {
	m, err := t.message(ctx, m)
	if err != nil {
		return err
	}
	return t.tx.Post(ctx, m)
}

// Find implements store.Reader and store.Transaction.
func (t *transaction) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	r, err := t.tx.Find(ctx, partition, workflowID, run)
	if err != nil {
		return nil, err
	}
	return r, t.decodeAll(ctx, ofRun(r)...)
}
