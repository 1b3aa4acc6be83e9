package eval

import (
	"maps"
	"time"

	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/retry"
)

// eval is the value of an expression.
func (f *frame) eval(x syntax.Expr) (Value, error) {
	if err := f.spend(1); err != nil {
		return nil, f.at(x, err)
	}
	v, err := f.expression(x)
	return v, f.at(x, err)
}

func (f *frame) expression(x syntax.Expr) (Value, error) {
	switch x := x.(type) {
	case *syntax.None:
		return nil, nil
	case *syntax.Name:
		v, ok := f.vars[x.Name]
		if !ok {
			return nil, fault(TypeName, "%s has no value yet", x.Name)
		}
		return v, nil
	case *syntax.List:
		items, err := f.all(x.Items)
		if err != nil {
			return nil, err
		}
		return list(items)
	case *syntax.Dict:
		return f.dict(x)
	case *syntax.Unary:
		return f.unary(x)
	case *syntax.Binary:
		return f.binary(x)
	case *syntax.Field:
		v, err := f.eval(x.X)
		if err != nil {
			return nil, err
		}
		return field(v, x.Name.Name)
	case *syntax.Index:
		return f.index(x)
	case *syntax.Call, *syntax.Action:
		return f.call(x)
	case *syntax.Wait:
		var timeout time.Duration
		policy, err := f.policy(&x.Policied)
		if err != nil {
			return nil, err
		}
		if policy != nil {
			timeout = policy.AttemptTimeout
		}
		return f.fx.Receive(x.Signal.Name, timeout)
	case *syntax.Spread:
		return f.spread(x, false)
	case *syntax.Parallel:
		return f.parallel(x.Calls, x.Fan)
	case interface{ Constant() any }:
		return x.Constant(), nil
	}
	return nil, fault(TypeType, "a %T has no value", x)
}

// list makes a Value of elements; a nil *List must not become one.
func list(items []Value) (Value, error) {
	l, err := NewList(items)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (f *frame) all(xs []syntax.Expr) ([]Value, error) {
	return collect(len(xs), func(i int) (Value, error) { return f.eval(xs[i]) })
}

func (f *frame) dict(x *syntax.Dict) (Value, error) {
	d := NewDict()
	for _, e := range x.Entries {
		k, err := f.eval(e.Key)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, f.at(e.Key, fault(TypeType, "the keys of a dictionary are texts, and this is %s; str(x) makes a text of it", kindOf(k)))
		}
		v, err := f.eval(e.Value)
		if err != nil {
			return nil, err
		}
		if err := d.set(key, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// field is X.name: a key of a dictionary, or a part of an error.
func field(v Value, name string) (Value, error) {
	switch v := v.(type) {
	case *Dict:
		if out, ok := v.values[name]; ok {
			if unread, is := out.(*Unread); is {
				return nil, unread.err()
			}
			return out, nil
		}
		return nil, fault(TypeKey, "the dictionary has no key %q", name)
	case *Exception:
		switch name {
		case "type":
			return v.Type, nil
		case "message":
			return v.Message, nil
		case "attempts":
			return v.Attempts, nil
		}
		return nil, fault(TypeKey, "an error has .type, .message and .attempts, and no .%s", name)
	}
	if err := refuseHuge(v); err != nil {
		return nil, err
	}
	return nil, fault(TypeType, "%s has no field %q", kindOf(v), name)
}

func (f *frame) index(x *syntax.Index) (Value, error) {
	v, err := f.eval(x.X)
	if err != nil {
		return nil, err
	}
	i, err := f.eval(x.I)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *Dict:
		key, ok := i.(string)
		if !ok {
			return nil, fault(TypeType, "the keys of a dictionary are texts, and this is %s", kindOf(i))
		}
		return field(v, key)
	case *List:
		n, err := place(i, len(v.items), "list")
		if err != nil {
			return nil, err
		}
		return v.items[n], nil
	case string:
		chars := []rune(v)
		if err := f.spend(len(chars) / 64); err != nil {
			return nil, err
		}
		n, err := place(i, len(chars), "text")
		if err != nil {
			return nil, err
		}
		return string(chars[n]), nil
	}
	return nil, fault(TypeType, "%s has no elements", kindOf(v))
}

// place is an index from 0, or from the end if it is below that.
func place(i Value, length int, what string) (int, error) {
	n, ok := i.(int64)
	if !ok {
		return 0, fault(TypeType, "the index of a %s is a whole number, and this is %s", what, kindOf(i))
	}
	at := n
	if at < 0 {
		at += int64(length)
	}
	if at < 0 || at >= int64(length) {
		return 0, fault(TypeIndex, "the index %d is beyond the %s, which has %s", n, what, plural(length, "element"))
	}
	return int(at), nil
}

// action is what an action asks for.
func (f *frame) action(x *syntax.Action) (Action, error) {
	a := Action{Name: x.Name.Name, Args: NewDict(), Policy: retry.Never}
	policy, err := f.policy(&x.Policied)
	if err != nil {
		return a, err
	}
	if policy != nil {
		a.Policy = *policy
	}
	for _, name := range x.Gates {
		gate := f.m.file.Gate(name.Name)
		if gate == nil {
			return a, fault(TypeName, "there is no gate %s", name.Name)
		}
		a.Gates = append(a.Gates, gate)
	}
	if x.Verify != nil {
		verify, err := f.action(x.Verify)
		if err != nil {
			return a, err
		}
		a.Verify = &verify
	}
	for _, arg := range x.Args {
		v, err := f.eval(arg.Value)
		if err != nil {
			return a, err
		}
		if err := a.Args.set(arg.Name.Name, v); err != nil {
			return a, err
		}
	}
	// Many actions with large arguments would be a turn that fills the memory.
	return a, f.spend(sizeOf(a.Args) / 64)
}

// call calls an action, a function of the program or a builtin.
func (f *frame) call(x syntax.Expr) (Value, error) {
	run, err := f.prepare(x)
	if err != nil {
		return nil, err
	}
	return run(f.fx)
}

// prepare evaluates the arguments of a call and returns what makes it.
func (f *frame) prepare(x syntax.Expr) (func(in Effects) (Value, error), error) {
	call, is := x.(*syntax.Action)
	if !is {
		return f.prepareCall(x.(*syntax.Call))
	}
	a, err := f.action(call)
	if err != nil {
		return nil, err
	}
	return func(in Effects) (Value, error) {
		v, err := in.Act(a)
		return v, f.placed(call, err)
	}, nil
}

// arguments are the arguments of a call.
func (f *frame) arguments(x *syntax.Call) ([]Value, error) {
	return collect(len(x.Args), func(i int) (Value, error) { return f.eval(x.Args[i].Value) })
}

// prepareCall is prepare for a function.
func (f *frame) prepareCall(x *syntax.Call) (func(in Effects) (Value, error), error) {
	if fn := f.m.functions[x.Name.Name]; fn != nil {
		bound, err := f.bind(fn, x)
		if err != nil {
			return nil, err
		}
		policy, err := f.policy(&x.Policied)
		if err != nil {
			return nil, err
		}
		return func(in Effects) (v Value, err error) {
			err = retried(in, policy, func(in Effects) (err error) {
				v, err = f.m.call(fn, maps.Clone(bound), in, f.depth+1, false)
				return err
			})
			return v, err
		}, nil
	}
	args, err := f.arguments(x)
	if err != nil {
		return nil, err
	}
	b := builtins[x.Name.Name]
	if b == nil {
		return nil, fault(TypeName, "there is no function %s", x.Name.Name)
	}
	if fault := b.arity(x.Name.Name, x.Args); fault != "" {
		return nil, &Error{Type: TypeType, Message: fault}
	}
	return func(in Effects) (Value, error) {
		inner := *f
		inner.fx = in
		return b.run(&inner, args)
	}, nil
}

// retried calls do by a policy, once if there is none. What cannot be caught is not
// retried, and nothing is for which the run is too long.
func retried(in Effects, policy *retry.Policy, do func(in Effects) error) error {
	if policy == nil {
		return do(in)
	}
	return in.Retry(*policy, func(in Effects) error {
		err := do(in)
		if events, most := in.History(); err != nil && (fatal(err) || most > 0 && events >= Longest*most) {
			return retry.Terminal(err)
		}
		return err
	})
}

// bind evaluates the arguments of a call and gives the inputs of the function their values.
func (f *frame) bind(fn *syntax.Function, x *syntax.Call) (map[string]Value, error) {
	values, err := f.arguments(x)
	if err != nil {
		return nil, err
	}
	if fault := Arity(fn, x); fault != "" {
		return nil, &Error{Type: TypeType, Message: fault}
	}
	bound := map[string]Value{}
	for i, a := range x.Args {
		name := a.Name.Name
		if name == "" {
			name = fn.Inputs[i].Name
		}
		if name != "_" {
			bound[name] = values[i]
		}
	}
	return bound, nil
}
