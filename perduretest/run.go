package perduretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// Run starts a workflow under an ID and waits for its result, through crashes
// and outages. Result and error are as those of perdure.Run; that the run did
// not end within the environment's patience is one as well.
func Run[In, Out any](env *Env, w workflow.Workflow[In, Out], id string, in In, options ...perdure.StartOption) (Out, error) {
	h, err := Start(env, w, id, in, options...)
	if err != nil {
		var none Out
		return none, err
	}
	return h.Result()
}

// Start starts a workflow under an ID and returns when the run is durable,
// asking again after a crash or in an outage.
func Start[In, Out any](env *Env, w workflow.Workflow[In, Out], id string, in In, options ...perdure.StartOption) (Handle[Out], error) {
	err := env.persist(func(ctx context.Context, eng *perdure.Engine) error {
		_, err := perdure.Start(ctx, eng, w, id, in, options...)
		return err
	})
	if err != nil {
		return Handle[Out]{}, env.explain(id, err)
	}
	return Handle[Out]{env, id}, nil
}

// Handle is a reference to a run that outlives engines.
type Handle[Out any] struct {
	env *Env
	id  string
}

// ID returns the workflow ID.
func (h Handle[Out]) ID() string { return h.id }

// Result waits until the run has ended and returns its result, as
// perdure.Handle.Result does, through crashes and outages.
func (h Handle[Out]) Result() (out Out, err error) {
	err = h.env.persist(func(ctx context.Context, eng *perdure.Engine) (err error) {
		out, err = perdure.Attach[Out](eng, h.id).Result(ctx)
		return err
	})
	return out, h.env.explain(h.id, err)
}

// Signal sends a signal and returns when it is durable, asking again after a
// crash or in an outage. To be recognised then it has an ID, which the
// environment makes unless one is given.
func Signal[T any](env *Env, id string, s workflow.Signal[T], value T, options ...perdure.SignalOption) error {
	env.mu.Lock()
	env.signals++
	name := fmt.Sprintf("perduretest-%d", env.signals)
	env.mu.Unlock()
	options = append([]perdure.SignalOption{perdure.SignalID(name)}, options...)
	return env.send(func(ctx context.Context, eng *perdure.Engine) error {
		return perdure.Signal(ctx, eng, id, s, value, options...)
	})
}

// Query asks the latest run of a workflow ID, asking again after a crash or in an
// outage. Answer and error are those of perdure.Query.
func Query[In, Out any](env *Env, id string, q workflow.Query[In, Out], in In) (out Out, err error) {
	err = env.persist(func(ctx context.Context, eng *perdure.Engine) (err error) {
		out, err = perdure.Query(ctx, eng, id, q, in)
		return err
	})
	return out, err
}

// Update asks the latest run of a workflow ID to change, asking again after a crash
// or in an outage. To be recognised then the update has an ID, which the environment
// makes unless one is given. Answer and error are those of perdure.Update.
func Update[In, Out any](env *Env, id string, u workflow.Update[In, Out], in In, options ...perdure.UpdateOption) (out Out, err error) {
	env.mu.Lock()
	env.signals++
	options = append([]perdure.UpdateOption{perdure.UpdateID(fmt.Sprintf("perduretest-%d", env.signals))}, options...)
	env.mu.Unlock()
	err = env.persist(func(ctx context.Context, eng *perdure.Engine) (err error) {
		out, err = perdure.Update(ctx, eng, id, u, in, options...)
		return err
	})
	return out, err
}

// Cancel asks the latest run of a workflow ID to end, asking again after a crash
// or in an outage.
func (e *Env) Cancel(id, reason string) error {
	return e.send(func(ctx context.Context, eng *perdure.Engine) error { return eng.Cancel(ctx, id, reason) })
}

// Terminate ends the latest run of a workflow ID at once, asking again after a
// crash or in an outage.
func (e *Env) Terminate(id, reason string) error {
	return e.send(func(ctx context.Context, eng *perdure.Engine) error { return eng.Terminate(ctx, id, reason) })
}

// Control carries an operation out on the selected calls of the latest run of a
// workflow ID, asking again after a crash or in an outage. To be recognised then
// it has a request ID, which the environment makes unless one is given.
func (e *Env) Control(id string, calls perdure.Calls, op perdure.Operation, options ...perdure.ControlOption) (records []perdure.ControlRecord, err error) {
	e.mu.Lock()
	e.signals++
	options = append([]perdure.ControlOption{perdure.RequestID(fmt.Sprintf("perduretest-%d", e.signals))}, options...)
	e.mu.Unlock()
	err = e.persist(func(ctx context.Context, eng *perdure.Engine) (err error) {
		records, err = eng.Control(ctx, id, calls, op, options...)
		return err
	})
	return records, err
}

// ControlRun carries an operation out on the latest run of a workflow ID, asking again
// as Control does.
func (e *Env) ControlRun(id string, op perdure.RunOperation, options ...perdure.ControlOption) (record perdure.ControlRecord, err error) {
	e.mu.Lock()
	e.signals++
	options = append([]perdure.ControlOption{perdure.RequestID(fmt.Sprintf("perduretest-%d", e.signals))}, options...)
	e.mu.Unlock()
	err = e.persist(func(ctx context.Context, eng *perdure.Engine) (err error) {
		record, err = eng.ControlRun(ctx, id, op, options...)
		return err
	})
	return record, err
}

// send is persist for messages. One that got through without an answer may have
// ended its run: what is said to the second try then is no failure.
func (e *Env) send(f func(context.Context, *perdure.Engine) error) error {
	tries := 0
	err := e.persist(func(ctx context.Context, eng *perdure.Engine) error {
		tries++
		return f(ctx, eng)
	})
	if tries > 1 && errors.Is(err, perdure.ErrClosed) {
		return nil
	}
	return err
}

// errImpatient is why a call of this package ends without an answer.
var errImpatient = errors.New("perduretest: stuck")

// persist asks the engine that lives until it has answered. What an engine says
// while it dies or stops is no answer, nor is that the database is away.
func (e *Env) persist(ask func(context.Context, *perdure.Engine) error) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), e.config.patience, errImpatient)
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
		case ctx.Err() != nil:
			return fmt.Errorf("%w: no answer within %s of virtual time", errImpatient, e.config.patience)
		case l.crashed() || errors.Is(err, perdure.ErrStopped):
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
	d, lost := l.engine.Describe(context.Background(), id)
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
