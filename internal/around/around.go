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

// Chain holds the interceptors and watchers of an engine. Nil has none.
type Chain struct{ byKind []list }

// list holds the interceptors and watchers of one kind of operation.
type list struct {
	all     []Member
	changes bool // one of them could change headers, whether it may or not
}

// New returns a chain of interceptors and watchers, nil if there are none.
func New(all []intercept.Interceptor, watchers []Placed) (*Chain, error) {
	if len(all)+len(watchers) == 0 {
		return nil, nil
	}
	kinds := intercept.Kinds()
	c := &Chain{make([]list, kinds[len(kinds)-1]+1)}
	var errs []error
	for i := range len(all) + 1 {
		for _, w := range watchers {
			if min(w.At, len(all)) == i {
				c.watch(w)
			}
		}
		if i < len(all) {
			errs = append(errs, c.add(i, all[i]))
		}
	}
	return c, errors.Join(errs...)
}

// watch adds a watcher.
func (c *Chain) watch(w Placed) {
	for _, k := range watched {
		c.byKind[k].all = append(c.byKind[k].all, Member{name: w.Name, watch: w.Watcher})
	}
}

// add adds the interceptor with index i.
func (c *Chain) add(i int, in intercept.Interceptor) error {
	var errs []error
	switch {
	case in.Name() == "":
		errs = append(errs, fmt.Errorf("interceptor %d has no name; make it with intercept.New and a name, which stands in errors", i+1))
	case in.Func() == nil:
		errs = append(errs, fmt.Errorf("interceptor %q has no function; pass it to intercept.New", in.Name()))
	}
	for _, k := range in.Kinds() {
		if !slices.Contains(intercept.Kinds(), k) {
			errs = append(errs, fmt.Errorf("interceptor %q is for %s, which does not exist", in.Name(), k))
			continue
		}
		l := &c.byKind[k]
		l.all, l.changes = append(l.all, Member{name: in.Name(), do: in.Func()}), true
	}
	return errors.Join(errs...)
}

// nothing is the list of an engine without interceptors.
var nothing list

// of returns the interceptors and watchers of a kind of operation.
func (c *Chain) of(k intercept.Kind) *list {
	if c == nil {
		return &nothing
	}
	return &c.byKind[k]
}

// Has reports whether a kind of operation has interceptors or watchers.
func (c *Chain) Has(k intercept.Kind) bool { return c != nil && len(c.byKind[k].all) > 0 }

// Do runs an operation inside the interceptors and watchers of its kind. When next is
// called, op has the headers that interceptors set, and they have been checked. Where
// headers must not change, the interceptors see those of the caller or a copy, and the
// caller's map is not modified.
func (c *Chain) Do(ctx context.Context, op *intercept.Op, next intercept.Next) error {
	o := Operation{Op: op, Inner: inner(next), list: *c.of(op.Kind)}
	return o.Do(ctx)
}

// Inner is the operation inside the interceptors.
type Inner interface {
	Next(ctx context.Context) error
}

type inner intercept.Next

func (f inner) Next(ctx context.Context) error { return f(ctx) }

// Operation is an operation with its interceptors. It is used once.
type Operation struct {
	Op    *intercept.Op
	Inner Inner
	list
	headers   map[string]string // the original headers, where they must not change
	mayChange bool
	first     stint // the call of the first interceptor, usually the only one
}

// Do runs the operation.
func (o *Operation) Do(ctx context.Context) error {
	op := o.Op
	switch {
	case op.Kind == intercept.Start, op.Kind == intercept.Schedule, op.Kind == intercept.Child:
		if op.Headers == nil {
			op.Headers = map[string]string{}
		}
		o.mayChange = true
	case o.changes:
		o.headers, op.Headers = op.Headers, maps.Clone(op.Headers)
	default:
		o.headers = op.Headers
	}
	return o.from(ctx, 0)
}

// from calls the interceptors from index i on, and then the operation itself.
func (o *Operation) from(ctx context.Context, i int) error {
	if i == len(o.all) {
		if err := o.checkHeaders(); err != nil {
			return err
		}
		return o.Inner.Next(ctx)
	}
	if o.all[i].watch != nil {
		return o.watched(ctx, i)
	}
	return o.intercepted(ctx, i)
}

// watched runs what is inside a watcher and notifies the watcher.
func (o *Operation) watched(ctx context.Context, i int) (err error) {
	m := &o.all[i]
	ctx, parent, mark, err := m.begins(ctx, o.Op)
	if err != nil {
		return err
	}
	if o.Op.Kind == intercept.Start && parent.Trace != "" && o.Op.Headers[history.HeaderTrace] == "" { // else the caller has set it
		o.Op.Headers[history.HeaderTrace] = parent.Trace
		if parent.State != "" {
			o.Op.Headers[HeaderState] = parent.State
		}
	}
	if mark == nil {
		return o.from(ctx, i+1)
	}
	returned := false
	defer func() { err = m.ends(o.Op, mark, err, returned) }()
	err = o.from(ctx, i+1)
	returned = true
	return err
}

// intercepted calls an interceptor.
func (o *Operation) intercepted(ctx context.Context, i int) (err error) {
	in := &o.first
	if in.o != nil {
		in = new(stint)
	}
	in.o, in.index = o, i
	returned := false
	defer func() {
		if returned || in.failed { // a panic of what is inside is not the interceptor's own
			return
		}
		if v := recover(); v != nil {
			err = o.all[i].panicked(o.Op, v)
		}
	}()
	err = o.all[i].do(ctx, o.Op, in.proceed)
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
	o      *Operation
	index  int
	called bool
	twice  bool
	failed bool // what is inside panicked, or exited its goroutine
	err    error
}

// proceed is the next function of one interceptor.
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

func (o *Operation) fault(i int, problem string, err error) error {
	return o.all[i].fault(o.Op, problem, err)
}

// panicked returns the error of an interceptor or watcher that panicked.
func (m *Member) panicked(op *intercept.Op, v any) error {
	return m.fault(op, "panicked", retry.NewPanicError(v))
}

// fault returns the error of an interceptor that broke the rules. It is terminal unless it
// is a panic.
func (m *Member) fault(op *intercept.Op, problem string, err error) error {
	what := op.Kind.String()
	if op.Name != "" {
		what = fmt.Sprintf("%s %q", what, op.Name)
	}
	fault := error(&intercept.FaultError{Interceptor: m.name, Operation: what, Problem: problem, Err: err})
	if panicked := (*retry.PanicError)(nil); errors.As(err, &panicked) {
		return fault
	}
	return retry.Terminal(fault)
}

// checkHeaders returns an error for headers that cannot be recorded, or that changed where
// they must not.
func (o *Operation) checkHeaders() error {
	switch {
	case o.mayChange:
		return history.CheckHeaders(o.Op.Headers)
	case o.changes && !maps.Equal(o.headers, o.Op.Headers):
		return retry.Terminal(&history.InputError{What: fmt.Sprintf("headers that an interceptor has set around %s", o.Op.Kind),
			Problem: "are not carried there; set them around a start, a schedule or a child"})
	}
	return nil
}
