package workflow

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
)

// Saga runs a block whose steps are undone if it does not succeed. After each step that
// succeeds, fn adds its compensation to undo. If fn returns an error, because a step
// failed or because the run or its scope was canceled, Saga runs the compensations in
// reverse order, shielded from cancellation. Then it returns the error of fn or, if a
// compensation failed, a *CompensationError around it.
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
// Compensations are ordinary workflow code: their calls have retry policies and recorded
// attempts, and after a crash they continue where they were. If one fails, that is
// recorded, and the others still run. A run that is terminated undoes nothing.
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

// CallWithUndo is Call for a step of a saga: if it succeeds, it adds compensate to undo
// under the activity's name. Compensate gets the result of the call.
func CallWithUndo[In, Out any](wf *Context, undo *Undo, a activity.Activity[In, Out], in In, compensate func(wf *Context, out Out) error, opts ...activity.Option) (Out, error) {
	out, err := Call(wf, a, in, opts...)
	if err == nil {
		undo.Add(a.Name(), func(wf *Context) error { return compensate(wf, out) })
	}
	return out, err
}

// Undo is the list of compensations of a saga. Any coroutine of the run may add to it.
type Undo struct {
	steps []compensation
}

type compensation struct {
	name string
	run  func(wf *Context) error
}

// Add adds a compensation. The name identifies it in errors. compensate must use the
// context it is given.
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

// CompensationError means that a saga failed and that some compensations failed, too. It
// wraps the error of the saga.
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
