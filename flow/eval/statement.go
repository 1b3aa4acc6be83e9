package eval

import (
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/perdure/perdure/flow/syntax"
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
	for _, s := range b.Statements {
		if err := f.spend(1); err != nil {
			return onward, nil, f.at(s, err)
		}
		w, v, err := f.statement(s)
		if err != nil {
			return onward, nil, f.at(s, err)
		}
		if w != onward {
			return w, v, nil
		}
	}
	return onward, nil, nil
}

func (f *frame) statement(s syntax.Statement) (way, Value, error) {
	switch s := s.(type) {
	case *syntax.Pass:
		return onward, nil, nil
	case *syntax.Break:
		return broken, nil, nil
	case *syntax.Continue:
		return continued, nil, nil
	case *syntax.Return:
		if s.Value == nil {
			return returned, nil, nil
		}
		v, err := f.eval(s.Value)
		return returned, v, err
	case *syntax.Sleep:
		return onward, nil, f.sleep(s)
	case *syntax.Do:
		_, err := f.eval(s.Value)
		return onward, nil, err
	case *syntax.Assign:
		v, err := f.eval(s.Value)
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
	d, err := Duration(text)
	if err != nil {
		return 0, fault(TypeValue, "%q is no duration; sleep takes seconds or a text such as \"1m30s\"", text)
	}
	return d, nil
}

// Duration reads a duration in the notation of policies, where a bare number is
// seconds; forever is none.
func Duration(text string) (time.Duration, error) {
	p, err := retry.Parse("[timeout: " + text + "]")
	if err != nil {
		return 0, err
	}
	if p.AttemptTimeout == retry.Forever {
		return 0, errors.New("forever is no duration")
	}
	return p.AttemptTimeout, nil
}

func (f *frame) ifElse(s *syntax.If) (way, Value, error) {
	yes, err := f.condition(s.Condition)
	if err != nil || yes {
		if err != nil {
			return onward, nil, err
		}
		return f.block(s.Body)
	}
	for _, c := range s.Elifs {
		yes, err := f.condition(c.Condition)
		if err != nil {
			return onward, nil, err
		}
		if yes {
			return f.block(c.Body)
		}
	}
	if s.Else != nil {
		return f.block(s.Else.Body)
	}
	return onward, nil, nil
}

func (f *frame) condition(x syntax.Expr) (bool, error) {
	v, err := f.eval(x)
	return truth(v), err
}

func (f *frame) while(s *syntax.While) (way, Value, error) {
	for {
		yes, err := f.condition(s.Condition)
		if err != nil || !yes {
			return onward, nil, err
		}
		if over, w, v, err := f.round(s.Body); over {
			return w, v, err
		}
	}
}

func (f *frame) forLoop(s *syntax.For) (way, Value, error) {
	over, err := f.eval(s.In)
	if err != nil {
		return onward, nil, err
	}
	items, err := f.elements(over)
	if err != nil {
		return onward, nil, f.at(s.In, err)
	}
	for _, item := range items {
		if err := f.assign(s.Targets, item); err != nil {
			return onward, nil, err
		}
		if over, w, v, err := f.round(s.Body); over {
			return w, v, err
		}
	}
	return onward, nil, nil
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

// try runs a block and, if it fails, the first handler that catches the error.
func (f *frame) try(s *syntax.Try) (way, Value, error) {
	var w way
	var v Value
	// Each attempt begins with the variables as they were before the first one.
	begin, fx := f.vars, f.fx
	err := retried(fx, s.Policy, func(in Effects) (err error) {
		if s.Policy != nil {
			f.vars, f.fx = maps.Clone(begin), in
		}
		w, v, err = f.block(s.Body)
		return err
	})
	f.fx = fx
	if err == nil || fatal(err) {
		return w, v, err
	}
	failure := retry.Classify(err)
	for _, h := range s.Handlers {
		if !catches(h.Types, failure) {
			continue
		}
		if h.As != nil {
			f.set(h.As.Name, exception(err))
		}
		if failure.Canceled {
			fx := f.fx
			f.fx = fx.Uncanceled()
			defer func() { f.fx = fx }()
		}
		return f.block(h.Body)
	}
	return onward, nil, err
}
