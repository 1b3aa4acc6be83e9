package workflow

import (
	"context"
	"maps"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/history"
)

// Intercept sets what is called around what the code does, before the code runs.
func (i *instance) Intercept(c *around.Chain) { i.around = c }

// intercepted reports whether an interceptor is to be called. In a replay none is: what
// they have changed is on record.
func (i *instance) intercepted(k intercept.Kind) bool { return i.around.Has(k) && !i.run.OnRecord() }

// intercept calls the interceptors of a kind around something that the code does. They
// cannot keep it from happening: one that tries, or panics, parks the run.
func (i *instance) intercept(k intercept.Kind, name string) {
	if !i.intercepted(k) {
		return
	}
	op := i.op(k, name)
	if k != intercept.WorkflowStart {
		op.Call = i.run.NextCall()
	}
	if err := i.around.Do(context.Background(), op, func(context.Context) error { return nil }); err != nil {
		panic(err)
	}
}

// op is an operation of the code. Without a name it is about the whole run.
func (i *instance) op(k intercept.Kind, name string) *intercept.Op {
	s := i.run.Self()
	if name == "" {
		name = s.Type
	}
	return &intercept.Op{
		Kind: k, Name: name, WorkflowID: s.WorkflowID, RunID: s.Run, Workflow: s.Type,
		Headers: history.WithTrace(s.Headers, s.Trace),
	}
}

// interceptChild lets interceptors change the headers of a child.
func (i *instance) interceptChild(workflow, id string, headers map[string]string, trace string) (map[string]string, string) {
	if !i.intercepted(intercept.Child) {
		return headers, trace
	}
	op := i.op(intercept.Child, workflow)
	op.Parent = i.op(intercept.WorkflowStart, "")
	op.WorkflowID, op.Workflow, op.RunID, op.Call = id, workflow, "", i.run.NextCall()
	op.Headers = history.WithTrace(headers, trace)
	if err := i.around.Do(context.Background(), op, func(context.Context) error { return nil }); err != nil {
		panic(err)
	}
	return history.CutTrace(op.Headers)
}

// interceptEnd returns with which error the run fails, and whether that is another one
// than that of the code.
func (i *instance) interceptEnd(err error) (_ error, replaced bool) {
	if !i.intercepted(intercept.WorkflowEnd) {
		return err, false
	}
	told := i.around.Do(context.Background(), i.op(intercept.WorkflowEnd, ""), func(context.Context) error { return err })
	switch {
	case told == nil:
		return nil, false
	case err == nil:
		panic(told)
	}
	return told, !same(told, err)
}

// same reports whether two errors are the same on record.
func same(a, b error) bool { return history.Same(history.FromError(a), history.FromError(b)) }

// childHeaders are those of a child: the run's, and what its options say.
func (i *instance) childHeaders(own map[string]string) map[string]string {
	all := i.run.Start().Headers
	if len(own) == 0 {
		return all
	}
	all = maps.Clone(all)
	if all == nil {
		return own
	}
	maps.Copy(all, own)
	return all
}
