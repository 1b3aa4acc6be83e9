package perduretest

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/seal"
)

// Mock replaces the body of an activity. It needs no registered implementation, and
// replaces one that is registered before or after. The options of the handle (its retry
// policy, its gates) apply as in production.
//
//	charge := perduretest.Mock(env, Charge, func(ctx context.Context, o Order) (Receipt, error) {
//		return Receipt{o.ID}, nil
//	})
//
// With several bodies, the first execution calls the first body, and so on; the last body
// takes all further ones. Executions are counted over all runs, including those that a
// crash cut off. For failures by the number of an attempt, see Env.Inject.
//
// As with Register, engines have the mock from their next start on. If the mock is never
// called, the test fails, unless Maybe allows it: such a test shows less than it seems
// to.
func Mock[In, Out any](env *Env, a activity.Activity[In, Out], bodies ...activity.Func[In, Out]) *Mocked[In, Out] {
	env.t.Helper()
	m := &Mocked[In, Out]{name: a.Name(), bodies: bodies}
	if m.name == "" {
		env.t.Fatal("perduretest.Mock: the activity has no name; mock a handle that activity.New or activity.Declare made")
	}
	if len(bodies) == 0 || slices.ContainsFunc(bodies, func(f activity.Func[In, Out]) bool { return f == nil }) {
		env.t.Fatalf("perduretest.Mock: no body was given to answer for %q", m.name)
	}
	env.mock(a.Impl(m.body), m)
	return m
}

// Mocked is a mock that records its calls. It is safe for concurrent use.
type Mocked[In, Out any] struct {
	name   string
	bodies []activity.Func[In, Out]

	mu         sync.Mutex
	executions []Execution[In]
	maybe      bool
}

// Execution is one execution of a mock: an attempt as its body sees it.
type Execution[In any] struct {
	activity.Info
	Input In
}

func (m *Mocked[In, Out]) body(ctx context.Context, in In) (Out, error) {
	info, _ := activity.FromContext(ctx)
	m.mu.Lock()
	body := m.bodies[min(len(m.executions), len(m.bodies)-1)]
	m.executions = append(m.executions, Execution[In]{info, in})
	m.mu.Unlock()
	return body(ctx, in)
}

// Maybe lets the test pass even if the mock is never called, and returns the mock.
func (m *Mocked[In, Out]) Maybe() *Mocked[In, Out] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.maybe = true
	return m
}

// Executions returns the executions in the order in which they began: one for
// every attempt that reached the body.
func (m *Mocked[In, Out]) Executions() []Execution[In] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.executions)
}

// Inputs returns the inputs of the calls that reached the body, one for each call
// however many attempts it took.
func (m *Mocked[In, Out]) Inputs() []In {
	var inputs []In
	seen := map[string]bool{}
	for _, x := range m.Executions() {
		if !seen[x.CallID] {
			seen[x.CallID] = true
			inputs = append(inputs, x.Input)
		}
	}
	return inputs
}

// Calls returns how many calls reached the body, however many attempts each took.
func (m *Mocked[In, Out]) Calls() int { return len(m.Inputs()) }

func (m *Mocked[In, Out]) unused() (name string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.name, len(m.executions) == 0 && !m.maybe
}

// stub is a Mocked of any types.
type stub interface{ unused() (name string, is bool) }

// mocks are the mocks of an environment, by name.
type mocks map[string]struct {
	definition perdure.Definition
	stub       stub
}

func (e *Env) mock(d perdure.Definition, s stub) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mocks == nil {
		e.mocks = mocks{}
	}
	e.mocks[d.Name()] = struct {
		definition perdure.Definition
		stub       stub
	}{d, s}
}

// definitions are what the next engine is given: what is registered, and mocks
// in the place of what they mock.
func (m mocks) among(registered []perdure.Definition) []perdure.Definition {
	all := slices.DeleteFunc(slices.Clone(registered), func(d perdure.Definition) bool {
		_, activity := d.(seal.Activity)
		return activity && m[d.Name()].definition != nil
	})
	for _, mock := range m {
		all = append(all, mock.definition)
	}
	return all
}
