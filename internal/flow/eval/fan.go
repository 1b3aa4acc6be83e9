package eval

import (
	"maps"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
)

// MaxSpread is how many elements a spread without a limit may have, and how many calls a
// parallel.
const MaxSpread = 10_000

// spread makes a call for each element, all at once or as many as its limit allows. If it
// is the whole of a statement the program can stop in it, when the calls that have begun
// have ended.
func (f *frame) spread(x *syntax.Spread, whole bool) (Value, error) {
	items, stopped, resumed, err := f.loopOver(x.Over)
	if err != nil {
		return nil, err
	}
	if x.Limit == 0 && len(items) > MaxSpread {
		return nil, f.at(x.Over, fault(TypeLimit, "a spread without a limit has at most %d elements, and this one has %d; give it one: spread xs [limit: 100]: x -> ...", MaxSpread, len(items)))
	}
	if action, is := x.Call.(*syntax.Action); is && x.Limit == 0 {
		return f.spreadAction(x, action, items)
	}
	work := fan{Fan: x.Fan, stops: whole && f.open, out: make([]Outcome, len(items))}
	if resumed {
		if err := work.restore(stopped); err != nil {
			return nil, err
		}
	}
	err = f.fanOut(&work, func(i int, in Effects) (Value, error) {
		inner := &frame{m: f.m, fx: in, vars: maps.Clone(f.vars), depth: f.depth}
		inner.set(x.As.Name, items[i])
		return inner.eval(x.Call)
	})
	if _, paused := err.(*Paused); paused {
		return nil, passed(err, func() (mark, error) { return work.save(items) })
	}
	if err != nil {
		return nil, f.at(x, err)
	}
	return work.results()
}

// spreadAction makes all calls of an action at once. Their arguments are evaluated before
// the first of them begins.
func (f *frame) spreadAction(x *syntax.Spread, call *syntax.Action, items []Value) (Value, error) {
	// The name is that of the element inside of the spread only.
	outer, had := f.vars[x.As.Name]
	defer func() {
		if delete(f.vars, x.As.Name); had {
			f.vars[x.As.Name] = outer
		}
	}()
	actions, err := collect(len(items), func(i int) (Action, error) {
		f.set(x.As.Name, items[i])
		return f.action(call)
	})
	if err != nil {
		return nil, f.at(call, err)
	}
	work := fan{Fan: x.Fan, out: f.fx.ActAll(actions)}
	for i := range work.out {
		work.out[i].Err = f.placed(call, work.out[i].Err)
	}
	return work.results()
}

// parallelBlock is parallel as a statement.
func (f *frame) parallelBlock(s *syntax.ParallelBlock) error {
	calls := make([]syntax.Expr, len(s.Body.Statements))
	for i, line := range s.Body.Statements {
		calls[i] = line.(*syntax.Do).Value
	}
	v, err := f.parallel(calls, s.Fan)
	if err != nil || len(s.Targets) == 0 {
		return err
	}
	return f.assign(s.Targets, v)
}

// parallel makes several calls at once. Their arguments are evaluated before the
// first of them begins.
func (f *frame) parallel(calls []syntax.Expr, how syntax.Fan) (Value, error) {
	if len(calls) > MaxSpread {
		return nil, fault(TypeLimit, "a parallel has at most %d calls, and this one has %d", MaxSpread, len(calls))
	}
	ready, err := collect(len(calls), func(i int) (func(in Effects) (Value, error), error) {
		run, err := f.prepare(calls[i])
		return run, f.at(calls[i], err)
	})
	if err != nil {
		return nil, err
	}
	work := fan{Fan: how, out: make([]Outcome, len(calls))}
	err = f.fanOut(&work, func(i int, in Effects) (Value, error) {
		v, err := ready[i](in)
		return v, f.at(calls[i], err)
	})
	if err != nil {
		return nil, err
	}
	return work.results()
}

// fan is calls that are made at once.
type fan struct {
	syntax.Fan
	stops bool // the program can stop between them
	next  int  // the first that has not begun
	out   []Outcome
}

// fanOut makes the calls that have not been made. Each of as many lines as the limit
// allows takes the next one until there is none. The error is that the program stops, or
// that it cannot and is to fail; calls that have begun have ended then.
func (f *frame) fanOut(work *fan, do func(i int, in Effects) (Value, error)) (stop error) {
	lines := len(work.out) - work.next
	if work.Limit > 0 {
		lines = min(lines, work.Limit)
	}
	f.fx.Each(lines, func(_ int, in Effects) {
		line := &frame{m: f.m, fx: in, open: work.stops}
		for work.next < len(work.out) && stop == nil {
			if work.Limit > 0 {
				if stop = line.boundary(); stop != nil {
					return
				}
			}
			i := work.next
			work.next++
			v, err := do(i, in)
			work.out[i] = Outcome{v, err}
		}
	})
	if work.next == len(work.out) {
		return nil
	}
	return stop
}

// results are the values of the calls, with errors in their places if that is asked for,
// or else the first error. A cancellation is no failure of a call.
func (w *fan) results() (Value, error) {
	values := make([]Value, len(w.out))
	for i, o := range w.out {
		switch {
		case o.Err == nil:
			values[i] = o.Value
		case w.Values && !fatal(o.Err) && !retry.Classify(o.Err).Canceled:
			values[i] = exception(o.Err)
		default:
			return nil, o.Err
		}
	}
	return list(values)
}

// save is the mark of a spread whose calls before next have ended.
func (w *fan) save(items []Value) (m mark, err error) {
	done := make([]Value, w.next)
	for i, o := range w.out[:w.next] {
		if done[i] = o.Value; o.Err != nil {
			done[i] = exception(o.Err)
			m.Failed = append(m.Failed, i)
		}
	}
	m.At = w.next
	if m.Items, err = encodeAll(items); err == nil {
		m.Done, err = encodeAll(done)
	}
	return m, err
}

func (w *fan) restore(m mark) error {
	done, err := decodeAll(m.Done)
	if err != nil {
		return err
	}
	if len(done) != m.At || m.At > len(w.out) {
		return errState
	}
	for i, v := range done {
		w.out[i].Value = v
	}
	for _, i := range m.Failed {
		if i < 0 || i >= len(done) {
			return errState
		}
		x, is := done[i].(*Exception)
		if !is {
			return errState
		}
		w.out[i] = Outcome{Err: x.Err}
	}
	w.next = m.At
	return nil
}
