package workflow

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
)

// Saga runs a block whose steps are undone if it does not succeed. Each step that
// has succeeded says to undo how that is done; if fn returns an error, because a
// step failed or because the run or its scope was canceled, what was said is done
// in reverse order, where no cancellation reaches it. Then Saga returns the error
// of fn, or, if a compensation failed, a *CompensationError around it.
//
//	workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (Receipt, error) {
//		payment, err := workflow.Call(wf, Charge, order)
//		if err != nil {
//			return Receipt{}, err
//		}
//		undo.Add("refund", func(wf *workflow.Context) error {
//			_, err := workflow.Call(wf, Refund, payment)
//			return err
//		})
//		...
//
// Compensations are ordinary workflow code: each call of theirs has its own retry
// policy and its own attempts on record, and after a crash they go on where they
// were. One that fails is on record, and the others still run. A run that is
// terminated undoes nothing.
//
// A step that failed is not undone. Where a failure may have had an effect all the
// same (a timeout, say), add the compensation before the call and let it find out.
func Saga[T any](wf *Context, fn func(wf *Context, undo *Undo) (T, error)) (T, error) {
	wf.enter()
	undo := &Undo{}
	out, err := fn(wf, undo)
	if err == nil {
		return out, nil
	}
	failed := undo.run(Shield(wf))
	if len(failed) > 0 {
		err = &CompensationError{Err: err, Failed: failed, Compensations: len(undo.steps)}
	}
	var zero T
	return zero, err
}

// CallWithUndo is Call for a step of a saga: if it succeeds, compensate is added
// to undo under the activity's name, and is given its result.
func CallWithUndo[In, Out any](wf *Context, undo *Undo, a activity.Activity[In, Out], in In, compensate func(wf *Context, out Out) error, opts ...activity.Option) (Out, error) {
	out, err := Call(wf, a, in, opts...)
	if err == nil {
		undo.Add(a.Name(), func(wf *Context) error { return compensate(wf, out) })
	}
	return out, err
}

// Undo is what a saga knows of how to undo its steps. It belongs to the run: any of
// its coroutines may add to it.
type Undo struct {
	steps []compensation
}

type compensation struct {
	name string
	run  func(wf *Context) error
}

// Add says how to undo what was done. The name tells compensations apart in errors.
// compensate must use the context it is given.
func (u *Undo) Add(name string, compensate func(wf *Context) error) {
	u.steps = append(u.steps, compensation{name, compensate})
}

// run undoes everything, the last first, and returns what failed.
func (u *Undo) run(wf *Context) (failed []FailedCompensation) {
	for i := len(u.steps) - 1; i >= 0; i-- {
		if err := u.steps[i].run(wf); err != nil {
			failed = append(failed, FailedCompensation{Name: u.steps[i].name, Type: retry.TypeName(err), Message: err.Error()})
		}
	}
	return failed
}

// CompensationError says that a saga failed and that not all of it could be
// undone. It wraps the error for which the saga failed.
type CompensationError struct {
	Err           error                `json:"-"`
	Failed        []FailedCompensation `json:"failed"`        // in the order in which they ran
	Compensations int                  `json:"compensations"` // how many there were
}

// FailedCompensation is a compensation that failed.
type FailedCompensation struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // type name of its error, see retry.TypeName
	Message string `json:"message"`
}

func init() { retry.RegisterErrorType[*CompensationError]("CompensationFailed") }

func (e *CompensationError) Error() string {
	var failures []string
	for _, f := range e.Failed {
		failures = append(failures, f.Name+": "+f.Message)
	}
	return fmt.Sprintf("%v (and of %d compensations %d failed: %s)", e.Err, e.Compensations, len(e.Failed), strings.Join(failures, "; "))
}

// Unwrap returns the error for which the saga failed.
func (e *CompensationError) Unwrap() error { return e.Err }
