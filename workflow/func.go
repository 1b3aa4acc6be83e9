package workflow

import (
	"context"

	"github.com/perdure/perdure/activity"
)

// NoResult adapts a function that returns only an error:
//
//	var Remind = workflow.New("remind", workflow.NoResult(func(wf *workflow.Context, o Order) error {
//		...
//	}))
func NoResult[In any](fn func(wf *Context, in In) error) Func[In, struct{}] {
	return func(wf *Context, in In) (struct{}, error) { return struct{}{}, fn(wf, in) }
}

// NoInput adapts a function without an input. Start the workflow with the input
// struct{}{}.
func NoInput[Out any](fn func(wf *Context) (Out, error)) Func[struct{}, Out] {
	return func(wf *Context, _ struct{}) (Out, error) { return fn(wf) }
}

// Task adapts a function with neither an input nor a result, such as the code of many
// scheduled workflows.
func Task(fn func(wf *Context) error) Func[struct{}, struct{}] {
	return func(wf *Context, _ struct{}) (struct{}, error) { return struct{}{}, fn(wf) }
}

// DoErr is Do for a step that has no result.
func DoErr(wf *Context, name string, fn func(ctx context.Context) error, opts ...activity.Option) error {
	_, err := Do(wf, name, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) }, opts...)
	return err
}
