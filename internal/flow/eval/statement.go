package eval

import (
	"maps"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
)

// way is how a block went on.
type way int

const (
	onward way = iota
	broken
	continued
	returned
)

// block runs statements until one of them leaves the block.
func (f *frame) block(b *syntax.Block) (way, Value, error) {
	first := 0
	if mark, is := f.resuming(); is {
		if first = mark.At; first >= len(b.Statements) {
			return onward, nil, errState
		}
	}
	for i := first; i < len(b.Statements); i++ {
		s := b.Statements[i]
		err := f.spend(1)
		if err == nil {
			err = f.boundary()
		}
		var w way
		var v Value
		if err == nil {
			w, v, err = f.statement(s)
		}
		if err != nil {
			return onward, nil, passed(f.at(s, err), at(i))
		}
		if w != onward {
			return w, v, nil
		}
	}
	return onward, nil, nil
}

func (f *frame) statement(s syntax.Statement) (way, Value, error) {
	switch s := s.(type) {
	case *syntax.Word:
		switch s.Word {
		case "break":
			return broken, nil, nil
		case "continue":
			return continued, nil, nil
		}
		return onward, nil, nil
	case *syntax.Return:
		if s.Value == nil {
			return returned, nil, nil
		}
		v, err := f.value(s.Value)
		return returned, v, err
	case *syntax.Sleep:
		return onward, nil, f.sleep(s)
	case *syntax.Do:
		_, err := f.value(s.Value)
		return onward, nil, err
	case *syntax.Assign:
		v, err := f.value(s.Value)
		if err == nil {
			err = f.assign(s.Targets, v)
		}
		return onward, nil, err
	case *syntax.ParallelBlock:
		return onward, nil, f.parallelBlock(s)
	case *syntax.If:
		return f.ifElse(s)
	case *syntax.While:
		return f.while(s)
	case *syntax.For:
		return f.forLoop(s)
	case *syntax.Try:
		return f.try(s)
	}
	return onward, nil, fault(TypeType, "a %T cannot be run", s)
}

// value is the value of an expression that is the whole of a statement: the program can
// stop inside of it.
func (f *frame) value(x syntax.Expr) (Value, error) {
	if s, is := x.(*syntax.Spread); is {
		if err := f.spend(1); err != nil {
			return nil, f.at(x, err)
		}
		v, err := f.spread(s, true)
		return v, f.at(x, err)
	}
	call, is := x.(*syntax.Call)
	if !is || !f.open || call.Policy != nil || f.m.functions[call.Name.Name] == nil {
		return f.eval(x)
	}
	v, err := f.openCall(call)
	return v, f.at(x, err)
}

// openCall calls a function of the program in which it can stop.
func (f *frame) openCall(x *syntax.Call) (Value, error) {
	fn := f.m.functions[x.Name.Name]
	if len(f.m.resume) > 0 { // its variables are on record
		return f.m.call(fn, nil, f.fx, f.depth+1, true)
	}
	bound, err := f.bind(fn, x)
	if err != nil {
		return nil, err
	}
	return f.m.call(fn, bound, f.fx, f.depth+1, true)
}

// assign gives names a value; several names take the elements of a list.
func (f *frame) assign(targets []syntax.Ident, v Value) error {
	if len(targets) == 1 {
		f.set(targets[0].Name, v)
		return nil
	}
	l, ok := v.(*List)
	if !ok {
		return fault(TypeType, "%d names take the elements of a list, and this is %s", len(targets), kindOf(v))
	}
	if len(l.items) != len(targets) {
		return fault(TypeValue, "%d names take the elements of a list of as many, and this one has %d", len(targets), len(l.items))
	}
	for i, t := range targets {
		f.set(t.Name, l.items[i])
	}
	return nil
}

func (f *frame) set(name string, v Value) {
	if name != "_" {
		f.vars[name] = v
	}
}

func (f *frame) sleep(s *syntax.Sleep) error {
	v, err := f.eval(s.For)
	if err != nil {
		return err
	}
	d, err := durationOf(v)
	if err != nil {
		return err
	}
	return f.fx.Sleep(d)
}

// durationOf is a number of seconds, or a text in the notation of policies.
func durationOf(v Value) (time.Duration, error) {
	text := ""
	switch v := v.(type) {
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', 9, 64) // nanoseconds
	case string:
		text = v
	default:
		return 0, fault(TypeType, "sleep takes seconds or a text such as \"1m30s\", and this is %s", kindOf(v))
	}
	d, err := syntax.Duration(text)
	if err != nil {
		return 0, fault(TypeValue, "%q is not a duration; sleep takes seconds or a text such as \"1m30s\"", text)
	}
	return d, nil
}

// ifElse runs the block of the first clause whose condition holds.
func (f *frame) ifElse(s *syntax.If) (w way, v Value, err error) {
	stopped, resumed := f.resuming()
	for i := stopped.At; i < len(s.Clauses); i++ {
		c := s.Clauses[i]
		yes := resumed || c.Condition == nil
		if !yes {
			yes, err = f.condition(c.Condition)
		}
		if err == nil && yes {
			w, v, err = f.block(c.Body)
		}
		if err != nil || yes {
			return w, v, passed(err, at(i))
		}
	}
	return onward, nil, nil
}

func (f *frame) condition(x syntax.Expr) (bool, error) {
	v, err := f.eval(x)
	return truth(v), err
}

func (f *frame) while(s *syntax.While) (way, Value, error) {
	_, resumed := f.resuming()
	for {
		if !resumed {
			yes, err := f.condition(s.Condition)
			if err != nil || !yes {
				return onward, nil, err
			}
		}
		resumed = false
		if over, w, v, err := f.round(s.Body); over {
			return w, v, passed(err, at(0))
		}
	}
}

func (f *frame) forLoop(s *syntax.For) (way, Value, error) {
	items, stopped, resumed, err := f.loopOver(s.In)
	if err != nil {
		return onward, nil, err
	}
	for i := stopped.At; i < len(items); i++ {
		if !resumed {
			if err := f.assign(s.Targets, items[i]); err != nil {
				return onward, nil, err
			}
		}
		resumed = false
		if over, w, v, err := f.round(s.Body); over {
			return w, v, passed(err, func() (m mark, err error) {
				m.At = i
				m.Items, err = encodeAll(items)
				return m, err
			})
		}
	}
	return onward, nil, nil
}

// loopOver are the elements of a loop or a spread, those on record if the program goes on
// inside of it.
func (f *frame) loopOver(x syntax.Expr) (items []Value, m mark, resumed bool, err error) {
	if m, resumed = f.resuming(); resumed {
		items, err = decodeAll(m.Items)
		return items, m, resumed, err
	}
	over, err := f.eval(x)
	if err != nil {
		return nil, m, false, err
	}
	items, err = f.elements(over)
	return items, m, false, f.at(x, err)
}

// round runs the block of a loop once. Over says that the loop ends by it, and how
// what follows goes on then.
func (f *frame) round(body *syntax.Block) (over bool, w way, v Value, err error) {
	if err := f.spend(1); err != nil {
		return true, onward, nil, err
	}
	w, v, err = f.block(body)
	switch {
	case err != nil || w == returned:
		return true, w, v, err
	case w == broken:
		return true, onward, nil, nil
	}
	return false, onward, nil, nil
}

// elements are what a loop goes over: the elements of a list, the keys of a
// dictionary, the characters of a text.
func (f *frame) elements(v Value) ([]Value, error) {
	if _, is := v.(*List); !is {
		if err := f.spend(sizeOf(v) / 2); err != nil { // they have to be made
			return nil, err
		}
	}
	switch v := v.(type) {
	case *List:
		return v.items, nil
	case *Dict:
		items := make([]Value, len(v.keys))
		for i, k := range v.keys {
			items[i] = k
		}
		return items, nil
	case string:
		items := make([]Value, 0, len(v))
		for _, c := range v {
			items = append(items, string(c))
		}
		return items, nil
	}
	return nil, fault(TypeType, "%s has no elements", kindOf(v))
}

// try runs a block and, if it fails, the first handler that catches the error. The
// handlers count from 1.
func (f *frame) try(s *syntax.Try) (way, Value, error) {
	stopped, resumed := f.resuming()
	if resumed && stopped.At > 0 {
		if stopped.At > len(s.Handlers) {
			return onward, nil, errState
		}
		w, v, err := f.handle(s.Handlers[stopped.At-1], stopped.Shield)
		return w, v, passed(err, func() (mark, error) { return stopped, nil })
	}
	if s.Policy != nil {
		return f.tryAgain(s)
	}
	w, v, err := f.block(s.Body)
	if _, is := err.(*Paused); is {
		return w, v, passed(err, at(0))
	}
	return f.caught(s, w, v, err)
}

// tryAgain is a try with a policy. Each attempt begins with the variables as they were
// before the first one.
func (f *frame) tryAgain(s *syntax.Try) (w way, v Value, err error) {
	policy, err := f.policy(&s.Policied)
	if err != nil {
		return onward, nil, err
	}
	begin, fx, open := f.vars, f.fx, f.open
	f.open = false
	err = retried(fx, policy, func(in Effects) (err error) {
		f.vars, f.fx = maps.Clone(begin), in
		w, v, err = f.block(s.Body)
		return err
	})
	f.fx, f.open = fx, open
	return f.caught(s, w, v, err)
}

// caught goes on behind the block of a try.
func (f *frame) caught(s *syntax.Try, w way, v Value, err error) (way, Value, error) {
	if err == nil || fatal(err) {
		return w, v, err
	}
	failure := retry.Classify(err)
	for i, h := range s.Handlers {
		if !catches(h.Types, failure) {
			continue
		}
		if h.As != nil {
			f.set(h.As.Name, exception(err))
		}
		w, v, err := f.handle(h, failure.Canceled)
		return w, v, passed(err, func() (mark, error) { return mark{At: i + 1, Shield: failure.Canceled}, nil })
	}
	return onward, nil, err
}

// handle runs the block of a handler, behind a shield if it caught a cancellation.
func (f *frame) handle(h *syntax.Except, shield bool) (way, Value, error) {
	if shield {
		fx := f.fx
		f.fx = fx.Uncanceled()
		defer func() { f.fx = fx }()
	}
	return f.block(h.Body)
}
