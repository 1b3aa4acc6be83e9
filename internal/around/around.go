package around

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Chain is the interceptors of an engine. Nil has none.
type Chain struct {
	byKind  map[intercept.Kind][]intercept.Interceptor
	changes map[intercept.Kind]bool // one of them might change headers, whether it may or not
}

// New returns the chain of some interceptors, nil for none. Readers are the indexes of those
// that are known to change no headers where that is refused: where all are, none is handed
// a copy.
func New(all []intercept.Interceptor, readers []int) (*Chain, error) {
	if len(all) == 0 {
		return nil, nil
	}
	c := &Chain{map[intercept.Kind][]intercept.Interceptor{}, map[intercept.Kind]bool{}}
	var errs []error
	for i, in := range all {
		switch {
		case in.Name() == "":
			errs = append(errs, fmt.Errorf("interceptor %d has no name; make it with intercept.New and a name, which stands in errors", i+1))
		case in.Func() == nil:
			errs = append(errs, fmt.Errorf("interceptor %q has no function; pass it to intercept.New", in.Name()))
		}
		for _, k := range in.Kinds() {
			if !slices.Contains(intercept.Kinds(), k) {
				errs = append(errs, fmt.Errorf("interceptor %q is for %s, which does not exist", in.Name(), k))
			}
			c.byKind[k] = append(c.byKind[k], in)
			if !slices.Contains(readers, i) {
				c.changes[k] = true
			}
		}
	}
	return c, errors.Join(errs...)
}

// Has reports whether there is an interceptor for operations of a kind.
func (c *Chain) Has(k intercept.Kind) bool { return c != nil && len(c.byKind[k]) > 0 }

// Do does an operation with the interceptors of its kind around it. What they have set as
// headers is in op when next is called, and was checked. Headers that may not be changed
// are those that the caller hands it, or a copy; the caller's own are not changed.
func (c *Chain) Do(ctx context.Context, op *intercept.Op, next intercept.Next) error {
	o := operation{op: op, all: c.byKind[op.Kind], next: next}
	switch {
	case op.Kind == intercept.Start, op.Kind == intercept.Schedule, op.Kind == intercept.Child:
		if op.Headers == nil {
			op.Headers = map[string]string{}
		}
		o.mayChange = true
	case c.changes[op.Kind]:
		o.headers, op.Headers = op.Headers, maps.Clone(op.Headers)
	default:
		o.headers = op.Headers
	}
	return o.from(ctx, 0)
}

type operation struct {
	op        *intercept.Op
	all       []intercept.Interceptor
	next      intercept.Next
	headers   map[string]string // as they were, where they may not be changed
	mayChange bool
	first     stint // of the first interceptor, most often the only one
}

// from calls the interceptors from one on, and then the operation itself.
func (o *operation) from(ctx context.Context, i int) (err error) {
	if i == len(o.all) {
		if err := o.checkHeaders(); err != nil {
			return err
		}
		return o.next(ctx)
	}
	in := &o.first
	if i > 0 {
		in = new(stint)
	}
	in.o, in.index = o, i
	returned := false
	defer func() {
		if returned || in.failed { // a panic of what it stands around is not its own
			return
		}
		if v := recover(); v != nil {
			err = o.fault(i, "panicked", retry.NewPanicError(v))
		}
	}()
	err = o.all[i].Func()(ctx, o.op, in.proceed)
	returned = true
	switch {
	case in.twice:
		return o.fault(i, "called next twice; it does so once", err)
	case err != nil:
		return err
	case !in.called:
		return o.fault(i, "returned nil without calling next; it returns an error to refuse", nil)
	case in.failed:
		return o.fault(i, "hid a panic; it panics on or returns an error", nil)
	case in.err != nil:
		return o.fault(i, "hid an error; it returns that or another one", in.err)
	}
	return nil
}

// stint is one call of an interceptor.
type stint struct {
	o      *operation
	index  int
	called bool
	twice  bool
	failed bool // what it stands around panicked, or ended its goroutine
	err    error
}

// proceed is next for one interceptor.
func (s *stint) proceed(ctx context.Context) error {
	if s.called {
		s.twice = true
		return s.o.fault(s.index, "called next twice; it does so once", nil)
	}
	s.called, s.failed = true, true
	err := s.o.from(ctx, s.index+1)
	s.failed, s.err = false, err
	return err
}

// fault is the error of an interceptor that did what it must not do. No retry mends it but
// that of a panic.
func (o *operation) fault(i int, problem string, err error) error {
	what := o.op.Kind.String()
	if o.op.Name != "" {
		what = fmt.Sprintf("%s %q", what, o.op.Name)
	}
	fault := error(&intercept.FaultError{Interceptor: o.all[i].Name(), Operation: what, Problem: problem, Err: err})
	if panicked := (*retry.PanicError)(nil); errors.As(err, &panicked) {
		return fault
	}
	return retry.Terminal(fault)
}

// checkHeaders refuses headers that could not be recorded, or are not.
func (o *operation) checkHeaders() error {
	switch {
	case o.mayChange:
		return history.CheckHeaders(o.op.Headers)
	case !maps.Equal(o.headers, o.op.Headers):
		return retry.Terminal(&history.InputError{What: fmt.Sprintf("headers that an interceptor has set around %s", o.op.Kind),
			Problem: "are not carried there; set them around a start, a schedule or a child"})
	}
	return nil
}
