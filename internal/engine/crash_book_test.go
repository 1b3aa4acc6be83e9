package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// book is what the world outside of the engine has seen: every body that began
// to run, and every turn that became durable. It shares nothing with the engine
// and notes at once what must never happen.
type book struct {
	mu          sync.Mutex
	store       store.Store // as last opened
	executions  []*execution
	faults      []string
	serial      int
	commits     map[turnKey]int64       // durable turns and their commit IDs
	last        map[string]turnKey      // the last durable turn of each run
	epochs      map[string]int64        // its epoch
	dispatched  map[string]int          // by call ID: the attempt that may run
	failed      map[string]map[int]bool // by call ID: attempts on record as failed
	closed      map[string]history.Kind // by call ID: how it was closed, durably
	ended       map[string]history.Kind // by run
	effects     []string                // of step transactions, see effects
	pauses      map[string]int          // by call ID: how often the engine paused it
	told        map[string]int          // and told somebody so
	inside      map[string]int          // by gate: bodies that run
	outsiders   map[string]outsider     // by attempt ID: handed out to others
	ways        map[string]int          // in which the store was written to, and at which write first
	writeNumber func() int              // of the write that is under way
}

type turnKey struct {
	run    string
	number int64
}

// execution is one run of a body.
type execution struct {
	callID   string
	attempt  int
	workflow string // its ID
	what     string // name and input: the same for all attempts of a call
	key      string // idempotency key, as the other side would see it
	outcome  string // running, succeeded, failed, panicked
}

func newBook() *book {
	return &book{
		commits:     map[turnKey]int64{},
		last:        map[string]turnKey{},
		epochs:      map[string]int64{},
		dispatched:  map[string]int{},
		failed:      map[string]map[int]bool{},
		closed:      map[string]history.Kind{},
		ended:       map[string]history.Kind{},
		pauses:      map[string]int{},
		told:        map[string]int{},
		inside:      map[string]int{},
		outsiders:   map[string]outsider{},
		ways:        map[string]int{},
		writeNumber: func() int { return 0 },
	}
}

func (b *book) blame(format string, args ...any) {
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// begin notes that a body runs.
func (b *book) begin(ctx context.Context, input any) *execution {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, ok := activity.FromContext(ctx)
	if !ok {
		b.blame("a body runs without knowing which attempt it is")
	}
	x := &execution{
		callID: callOf(info), attempt: info.Attempt, workflow: info.WorkflowID, key: activity.IdempotencyKey(ctx),
		what: fmt.Sprintf("%s(%v)", info.Activity, input), outcome: "running",
	}
	if kind := b.closed[x.callID]; kind == history.CallCompleted || kind == history.CallFailed {
		b.blame("%s runs again, attempt %d, after %s was durable", x.what, x.attempt, kind)
	}
	if d := b.dispatched[x.callID]; d != x.attempt {
		b.blame("%s runs as attempt %d, but durable is attempt %d", x.what, x.attempt, d)
	}
	for _, o := range b.executions {
		if o.callID == x.callID && o.attempt >= x.attempt {
			b.blame("%s runs as attempt %d after attempt %d", x.what, x.attempt, o.attempt)
		}
		if o.workflow == x.workflow && o.what == x.what && o.key != x.key {
			b.blame("%s has the idempotency keys %s and %s", x.what, o.key, x.key)
		}
	}
	b.executions = append(b.executions, x)
	return x
}

// callOf names a call of a run. After a reset it may have another idempotency key.
func callOf(info activity.Info) string {
	return strings.TrimSuffix(info.AttemptID, fmt.Sprint(".", info.Attempt))
}

func (b *book) end(x *execution, outcome string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x.outcome = outcome
}

// failedAfterwards notes that an attempt failed although its body succeeded.
func (b *book) failedAfterwards(ctx context.Context) {
	info, _ := activity.FromContext(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.executions {
		if x.callID == callOf(info) && x.attempt == info.Attempt {
			x.outcome = "failed"
		}
	}
}

// enter notes that a body runs behind a gate.
func (b *book) enter(gate string, limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inside[gate]++; b.inside[gate] > limit {
		b.blame("%d bodies run behind gate %s, which lets %d pass", b.inside[gate], gate, limit)
	}
}

func (b *book) leave(gate string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inside[gate]--
}

// next counts how often something happened.
func (b *book) next() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.serial++
	return b.serial
}

// failures says how many attempts of a body's call are on record as failed. A
// body that decides by it fails equally often however often the process dies.
func (b *book) failures(ctx context.Context) int {
	info, _ := activity.FromContext(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.failed[callOf(info)])
}

// kept makes a body that keeps the book.
func kept[In, Out any](b *book, f activity.Func[In, Out]) activity.Func[In, Out] {
	return func(ctx context.Context, in In) (out Out, err error) {
		x := b.begin(ctx, in)
		outcome := "panicked"
		defer func() { b.end(x, outcome) }()
		out, err = f(ctx, in)
		outcome = "succeeded"
		if err != nil {
			outcome = "failed"
		}
		if errors.Is(err, activity.ErrPending) {
			outcome = "pending"
		}
		return out, err
	}
}

// durable notes a turn that the database has taken.
func (b *book) durable(t *store.Turn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes(t)
	if t.Number > 0 {
		key := turnKey{t.Run, t.Number}
		if id, known := b.commits[key]; known {
			if id != t.CommitID {
				b.blame("turn %d of the run is durable twice, as two different ones", t.Number)
			}
			return // the answer was lost, and asked for again
		}
		b.commits[key] = t.CommitID
		b.created(t.Create)
		if prev := b.last[t.Run]; prev.number+1 != t.Number {
			b.blame("turn %d is durable after turn %d: history has a gap", t.Number, prev.number)
		}
		b.last[t.Run] = key
	}
	if t.Epoch < b.epochs[t.Run] {
		b.blame("a turn is durable under epoch %d after one under epoch %d", t.Epoch, b.epochs[t.Run])
	}
	b.epochs[t.Run] = t.Epoch
	events, err := new(history.Words).OpenTurn(t.Run, t.Number, t.Time, t.Events)
	if t.Number > 0 && err != nil {
		b.blame("turn %d cannot be read: %v", t.Number, err)
	}
	if kind, over := b.ended[t.Run]; over && len(events) > 0 {
		b.blame("turn %d is durable after %s", t.Number, kind)
	}
	for i := range events {
		b.event(t.Run, &events[i])
	}
	for _, a := range t.Attempts {
		if a.Outcome == string(core.Failed) || a.Outcome == string(core.TimedOut) {
			id := core.CallID(t.Run, a.Call)
			if b.failed[id] == nil {
				b.failed[id] = map[int]bool{}
			}
			b.failed[id][a.Number] = true // not for the second time if the turn is
		}
	}
	for _, c := range store.Apart(t.Calls) {
		id := core.CallID(t.Run, c.Number)
		delete(b.dispatched, id)
		if c.State == store.Dispatched {
			b.dispatched[id] = c.Attempt
		}
		if c.State == store.Quarantined {
			b.blame("call %d, %s, is quarantined", c.Number, c.Name)
		}
	}
}

// created notes with which history a run begins.
func (b *book) created(r *store.Run) {
	if r != nil && r.Base != nil {
		b.last[r.ID] = turnKey{r.ID, r.Base.Last.Number}
	}
}

// event notes an event of a durable turn.
func (b *book) event(run string, e *history.Event) {
	id := core.CallID(run, e.Call)
	switch {
	case e.Kind == history.ActivityScheduled || e.Kind == history.StepScheduled:
		b.dispatched[id] = 1 // unless a row says that it is queued
	case e.Kind == history.CallCompleted, e.Kind == history.CallFailed, e.Kind == history.CallCanceled,
		e.Kind == history.TimerFired, e.Kind == history.TimerCanceled,
		e.Kind == history.CallCancelRequested && e.Closed:
		if before, twice := b.closed[id]; twice {
			b.blame("call %d has two results: %s and %s", e.Call, before, e.Kind)
		}
		b.closed[id] = e.Kind
	case e.Kind == history.CallControlled && e.By == "":
		b.pauses[id]++
	case e.Kind.Terminal():
		b.ended[run] = e.Kind
	}
}

// paused notes that somebody is told of a pause, which must be durable.
func (b *book) paused(p view.PausedCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := core.CallID(p.RunID, p.Call)
	if b.told[id]++; b.pauses[id] == 0 {
		b.blame("call %d is said to be paused, and it is not durable", p.Call)
	}
}

// witness is an opener whose stores tell the book what became durable.
type witness struct {
	store.Opener
	book *book
}

func (w witness) Open(ctx context.Context) (store.Store, error) {
	s, err := w.Opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	w.book.store = s
	return witnessed{s, w.book}, nil
}

func (w witness) Close() error { return closeDatabase(w.Opener) }

// remains are the messages and the rows of calls that the database still has.
func (b *book) remains(ctx context.Context) (all []string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	inbox, err := b.store.Inbox(ctx, []int{0}, store.InboxRead{})
	if err != nil {
		return nil, err
	}
	for _, m := range inbox {
		all = append(all, fmt.Sprintf("message %s", m.Key))
	}
	counts, err := b.store.Counts(ctx, nil, 0)
	if err != nil {
		return nil, err
	}
	for state, n := range counts.Calls {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d calls that are %s", n, state))
		}
	}
	gates, err := b.store.List(ctx, store.Filter{Status: []store.Status{store.Standing}})
	if err != nil {
		return nil, err
	}
	for _, g := range gates {
		tickets, err := b.store.Calls(ctx, g.Partition, g.ID)
		if err != nil {
			return nil, err
		}
		for _, c := range tickets {
			if c.State == store.Noted {
				continue
			}
			all = append(all, fmt.Sprintf("a ticket of %s that is %s: %s", g.ID, c.State, c.Data))
		}
	}
	return all, nil
}

type witnessed struct {
	store.Store
	book *book
}

func (w witnessed) Create(ctx context.Context, run store.Run) error {
	w.book.mu.Lock() // before: its first turn may be durable before the answer comes
	if _, begun := w.book.last[run.ID]; !begun {
		w.book.created(&run)
	}
	w.book.wrote("a run by a client")
	w.book.mu.Unlock()
	return w.Store.Create(context.WithoutCancel(ctx), run)
}

func (w witnessed) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	// A process that dies does not call back what it has sent. If the store were
	// told to, nobody would know what became durable.
	result, err := w.Store.Commit(context.WithoutCancel(ctx), turns)
	if err == nil {
		for i := range turns {
			if result.Errors[i] == nil {
				w.book.durable(&turns[i])
			}
		}
	}
	return result, err
}

func (w witnessed) Post(ctx context.Context, m store.Message) error {
	w.book.mu.Lock()
	w.book.wrote(fmt.Sprintf("a message by a client, %s", m.Kind))
	w.book.mu.Unlock()
	return w.Store.Post(ctx, m)
}

func (w witnessed) Switch(ctx context.Context, s store.Switch) (store.Switch, error) {
	w.book.mu.Lock()
	w.book.wrote("a switch")
	w.book.mu.Unlock()
	return w.Store.Switch(ctx, s)
}
