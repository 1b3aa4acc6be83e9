package perduretest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// Run starts a workflow under an ID and waits for its result, through crashes and
// outages. Result and error are those of perdure.Run. It is also an error if the run does
// not end within the environment's Patience.
func Run[In, Out any](env *Env, w workflow.Workflow[In, Out], id string, in In, options ...perdure.StartOption) (Out, error) {
	h, err := Start(env, w, id, in, options...)
	if err != nil {
		var none Out
		return none, err
	}
	return h.Result()
}

// Start starts a workflow under an ID and returns when the run is durable. It is repeated
// after a crash or in an outage.
func Start[In, Out any](env *Env, w workflow.Workflow[In, Out], id string, in In, options ...perdure.StartOption) (Handle[Out], error) {
	err := env.persist(context.Background(), func(ctx context.Context, eng *perdure.Engine) error {
		_, err := perdure.Start(ctx, eng, w, id, in, options...)
		return err
	})
	if err != nil {
		return Handle[Out]{}, env.explain(id, err)
	}
	return handle[Out](env, id), nil
}

// Handle is a reference to a workflow ID that outlives engines. Its methods, and signals,
// queries and updates sent to it, are repeated after a crash and in an outage:
//
//	err := Paid.Send(t.Context(), h, "by bank")
type Handle[Out any] struct {
	target
	env *Env
	id  string
	of  string // the run that is read, empty for the latest
}

// target lets the messages of package workflow be sent to a handle.
type target = seal.Target

// Workflow returns a handle to a workflow ID whose result is raw JSON.
func (e *Env) Workflow(id string) Handle[json.RawMessage] { return handle[json.RawMessage](e, id) }

func handle[Out any](e *Env, id string) Handle[Out] {
	return Handle[Out]{target: seal.MessagesTo(teller{e}, id), env: e, id: id}
}

// OfRun returns a handle whose Describe, History and Attempts read one run of the
// workflow ID by its run ID, instead of the latest.
func (h Handle[Out]) OfRun(runID string) Handle[Out] {
	h.of = runID
	return h
}

// ID returns the workflow ID.
func (h Handle[Out]) ID() string { return h.id }

// Result waits until the workflow has ended and returns its result, as
// perdure.Handle.Result does, through crashes and outages.
func (h Handle[Out]) Result() (out Out, err error) {
	out, err = answered(context.Background(), h.env, func(ctx context.Context, eng *perdure.Engine) (Out, error) {
		return perdure.Attach[Out](eng, h.id).Result(ctx)
	})
	return out, h.env.explain(h.id, err)
}

// Describe returns the state of the run.
func (h Handle[Out]) Describe() *view.Description {
	h.env.t.Helper()
	return look(h, perdure.Handle[Out].Describe)
}

// History returns the events of the run.
func (h Handle[Out]) History() []view.Event {
	h.env.t.Helper()
	return look(h, perdure.Handle[Out].History)
}

// Attempts returns every attempt of the run.
func (h Handle[Out]) Attempts() []view.Attempt {
	h.env.t.Helper()
	return look(h, perdure.Handle[Out].Attempts)
}

// look reads something of a run; the test fails if that is not possible.
func look[Out, T any](h Handle[Out], read func(perdure.Handle[Out], context.Context) (T, error)) T {
	h.env.t.Helper()
	answer, err := answered(context.Background(), h.env, func(ctx context.Context, eng *perdure.Engine) (T, error) {
		return read(perdure.Attach[Out](eng, h.id).OfRun(h.of), ctx)
	})
	if err != nil {
		h.env.t.Fatal(err)
	}
	return answer
}

// Cancel asks the workflow to end, as perdure.Handle.Cancel does.
func (h Handle[Out]) Cancel(reason string) error {
	return h.env.send(context.Background(), func(ctx context.Context, eng *perdure.Engine) error {
		return eng.Workflow(h.id).Cancel(ctx, reason)
	})
}

// Terminate ends the workflow, as perdure.Handle.Terminate does.
func (h Handle[Out]) Terminate(reason string) error {
	return h.env.send(context.Background(), func(ctx context.Context, eng *perdure.Engine) error {
		return eng.Workflow(h.id).Terminate(ctx, reason)
	})
}

// teller sends messages until an engine has taken them. To be recognised when they are
// repeated they have a key, which the environment makes unless one is given.
type teller struct{ env *Env }

func (t teller) Signal(ctx context.Context, id, name, key string, value history.Payload) error {
	key = cmp.Or(key, t.env.newKey())
	return t.env.send(ctx, func(ctx context.Context, eng *perdure.Engine) error {
		return engine.Of(eng).Signal(ctx, id, name, key, value)
	})
}

func (t teller) Query(ctx context.Context, id, run, name string, input history.Payload) (history.Payload, error) {
	return answered(ctx, t.env, func(ctx context.Context, eng *perdure.Engine) (history.Payload, error) {
		return engine.Of(eng).Query(ctx, id, run, name, input)
	})
}

func (t teller) Update(ctx context.Context, id, name, key string, input history.Payload) (history.Payload, error) {
	key = cmp.Or(key, t.env.newKey())
	return answered(ctx, t.env, func(ctx context.Context, eng *perdure.Engine) (history.Payload, error) {
		return engine.Of(eng).Update(ctx, id, name, key, input)
	})
}

// newKey makes an idempotency key.
func (e *Env) newKey() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.signals++
	return fmt.Sprintf("perduretest-%d", e.signals)
}

// Control is ops.Control, repeated after a crash or in an outage. The environment adds a
// request ID unless one is given, so that a repeated request is recognized.
func (e *Env) Control(id string, calls view.CallFilter, op ops.Operation, options ...ops.ControlOption) (records []view.ControlRecord, err error) {
	options = append([]ops.ControlOption{ops.RequestID(e.newKey())}, options...)
	return answered(context.Background(), e, func(ctx context.Context, eng *perdure.Engine) ([]view.ControlRecord, error) {
		return ops.Control(ctx, eng, id, calls, op, options...)
	})
}

// ControlRun is ops.ControlRun, repeated like Control.
func (e *Env) ControlRun(id string, op ops.RunOperation, options ...ops.ControlOption) (record view.ControlRecord, err error) {
	options = append([]ops.ControlOption{ops.RequestID(e.newKey())}, options...)
	return answered(context.Background(), e, func(ctx context.Context, eng *perdure.Engine) (view.ControlRecord, error) {
		return ops.ControlRun(ctx, eng, id, op, options...)
	})
}

// send is persist for messages. One that got through without an answer may have
// ended its run: what the second try returns then is not a failure.
func (e *Env) send(ctx context.Context, f func(context.Context, *perdure.Engine) error) error {
	tries := 0
	err := e.persist(ctx, func(ctx context.Context, eng *perdure.Engine) error {
		tries++
		return f(ctx, eng)
	})
	if tries > 1 && errors.Is(err, perdure.ErrClosed) {
		return nil
	}
	return err
}

// answered is persist for what has an answer.
func answered[T any](ctx context.Context, e *Env, ask func(context.Context, *perdure.Engine) (T, error)) (answer T, err error) {
	err = e.persist(ctx, func(ctx context.Context, eng *perdure.Engine) (err error) {
		answer, err = ask(ctx, eng)
		return err
	})
	return answer, err
}

// errImpatient is why a call of this package ends without an answer.
var errImpatient = errors.New("perduretest: stuck")

// persist asks the engine that lives until it has answered. What an engine says
// while it dies or stops does not count, nor does an error that the database is not available.
func (e *Env) persist(parent context.Context, ask func(context.Context, *perdure.Engine) error) error {
	ctx, cancel := context.WithTimeoutCause(parent, e.config.patience, errImpatient)
	defer cancel()
	for {
		l, err := e.await()
		if err != nil {
			return err
		}
		err = ask(ctx, l.engine)
		switch {
		case err == nil:
			return nil
		case parent.Err() != nil:
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("%w: no answer within %s of virtual time", errImpatient, e.config.patience)
		case l.plan.IsCrashed() || errors.Is(err, perdure.ErrStopped):
			<-l.over
		case store.Unavailable(err):
			time.Sleep(100 * time.Millisecond)
		default:
			return err
		}
	}
}

// explain adds to the error of a call that was stuck where the run stands.
func (e *Env) explain(id string, err error) error {
	if !errors.Is(err, errImpatient) {
		return err
	}
	l, dead := e.await()
	if dead != nil {
		return errors.Join(err, dead)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the run of %q ", id)
	d, lost := l.engine.Workflow(id).Describe(context.Background())
	if lost != nil {
		fmt.Fprintf(&b, "cannot be described: %v", lost)
		return fmt.Errorf("%w; %s", err, b.String())
	}
	fmt.Fprintf(&b, "is %s", d.Status)
	if d.Reason != "" {
		fmt.Fprintf(&b, " (%s)", d.Reason)
	}
	for _, p := range d.Pending {
		fmt.Fprintf(&b, "; %s %q is %s, attempt %d", p.Kind, p.Name, p.State, p.Attempt)
		if p.Next != nil {
			fmt.Fprintf(&b, ", next at %s", p.Next.Format(time.RFC3339))
		}
		if p.LastError != "" {
			fmt.Fprintf(&b, ", last error %q", p.LastError)
		}
	}
	if health := l.engine.Health(); health != nil {
		fmt.Fprintf(&b, "; the engine says: %v", health)
	}
	return fmt.Errorf("%w; %s", err, b.String())
}
