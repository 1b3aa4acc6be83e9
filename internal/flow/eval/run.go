package eval

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/flow/syntax"
)

// Bounds of a run.
const (
	MaxSteps = 1_000_000 // statements, operations and elements copied in one turn
	MaxCalls = 100       // functions that call each other
)

// Run runs a program from its entry point and returns its result. The file must be
// free of faults, as syntax.Parse and package check see them. Input has a value for
// each input of the entry point and no others; nil is no input.
//
// An error is that of the action that failed, or an *Error of the program itself.
func Run(file *syntax.File, input *Dict, fx Effects) (Value, error) {
	if input == nil {
		input = NewDict()
	}
	if err := CheckInput(file, input); err != nil {
		return nil, err
	}
	return newMachine(file, fx).call(file.Main(), maps.Clone(input.values), fx, 1, true)
}

func newMachine(file *syntax.File, fx Effects) *machine {
	m := &machine{file: file, functions: map[string]*syntax.Function{}, turn: fx.Turn()}
	for _, fn := range file.Functions {
		m.functions[fn.Name.Name] = fn
	}
	return m
}

// CheckInput reports whether an input is what the entry point of a program takes.
func CheckInput(file *syntax.File, input *Dict) error {
	main := file.Main()
	var missing, unknown []string
	wanted := map[string]bool{}
	for _, in := range main.Inputs {
		if in.Name == "_" {
			continue
		}
		wanted[in.Name] = true
		if _, ok := input.values[in.Name]; !ok {
			missing = append(missing, in.Name)
		}
	}
	for _, key := range input.keys {
		if !wanted[key] {
			unknown = append(unknown, key)
		}
	}
	switch {
	case len(missing) > 0:
		return fault(TypeType, "the input lacks %s", strings.Join(missing, ", "))
	case len(unknown) > 0 && file.Implicit:
		return fault(TypeType, "the program takes no input, and got %s; give it a head such as fn main(input: [%s], output: []):", strings.Join(unknown, ", "), strings.Join(unknown, ", "))
	case len(unknown) > 0:
		return fault(TypeType, "the program has no input %s", strings.Join(unknown, ", "))
	}
	return nil
}

// machine is what all frames of a run share.
type machine struct {
	file      *syntax.File
	functions map[string]*syntax.Function
	steps     int    // of this turn
	turn      int64  // which
	resume    []mark // where the program is to go on, outermost first; empty once it is there
	refused   bool   // the program was told that its run grows too long
}

// frame is one call of a function, on one line of execution.
type frame struct {
	m     *machine
	fx    Effects
	vars  map[string]Value
	depth int
	open  bool // the program can stop here: nothing is at work beside this frame
}

// spend counts steps.
func (f *frame) spend(n int) error {
	m := f.m
	m.steps += n
	if m.steps <= MaxSteps {
		return nil
	}
	if turn := f.fx.Turn(); turn != m.turn {
		m.turn, m.steps = turn, n
		return nil
	}
	return fault(TypeSteps, "the program made more than %d steps without waiting for anything", MaxSteps)
}

// call runs a function with arguments that fit it. Open says that the program can stop
// in it.
func (m *machine) call(fn *syntax.Function, args map[string]Value, fx Effects, depth int, open bool) (Value, error) {
	if depth > MaxCalls {
		return nil, fault(TypeLimit, "functions call each other more than %d levels deep", MaxCalls)
	}
	f := &frame{m: m, fx: fx, vars: args, depth: depth, open: open}
	if mark, is := f.resuming(); is {
		if err := f.restore(mark); err != nil {
			return nil, err
		}
	}
	if depth == 1 {
		fx.Watch(f.variables)
	}
	way, result, err := f.block(fn.Body)
	if err != nil {
		return nil, passed(err, f.save)
	}
	if way != returned {
		return f.outputs(fn)
	}
	if n := len(fn.Outputs); n > 1 {
		if l, ok := result.(*List); !ok || len(l.items) != n {
			return nil, f.at(fn, fault(TypeType, "the function %s has %d outputs, and returned %s; it returns a list of as many", fn.Name.Name, n, describe(result)))
		}
	}
	return result, nil
}

// save is the mark of the frame.
func (f *frame) save() (m mark, err error) {
	m.Vars = map[string]json.RawMessage{}
	for name, v := range f.vars {
		if m.Vars[name], err = encodeTagged(v); err != nil {
			return m, err
		}
	}
	return m, nil
}

// restore gives the frame the variables of its mark.
func (f *frame) restore(m mark) (err error) {
	f.vars = map[string]Value{}
	for _, name := range slices.Sorted(maps.Keys(m.Vars)) {
		if f.vars[name], err = decodeTagged(m.Vars[name]); err != nil {
			return err
		}
	}
	return nil
}

// variables are the variables of a frame, by name. What is too large together is left
// out.
func (f *frame) variables() *Dict {
	d := NewDict()
	for _, name := range slices.Sorted(maps.Keys(f.vars)) {
		if d.size+sizeOf(f.vars[name]) < MaxValue/2 {
			_ = d.set(name, f.vars[name])
		}
	}
	return d
}

func describe(v Value) string {
	if l, ok := v.(*List); ok {
		return "a list of " + plural(len(l.items), "element")
	}
	return kindOf(v)
}

// outputs are the results of a function that ends without return: the values that
// the names of its outputs have.
func (f *frame) outputs(fn *syntax.Function) (Value, error) {
	if len(fn.Outputs) == 0 {
		return nil, nil
	}
	values := make([]Value, len(fn.Outputs))
	for i, out := range fn.Outputs {
		v, ok := f.vars[out.Name]
		if !ok && out.Name != "_" {
			return nil, f.at(fn, fault(TypeName, "the function %s ended before its output %s had a value", fn.Name.Name, out.Name))
		}
		values[i] = v
	}
	if len(values) == 1 {
		return values[0], nil
	}
	return list(values)
}
