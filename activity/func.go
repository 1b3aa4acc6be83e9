package activity

import "context"

// NoResult adapts a function that returns only an error:
//
//	var Notify = activity.New("notify", activity.NoResult(func(ctx context.Context, m Mail) error {
//		return smtp.Send(ctx, m)
//	}))
func NoResult[In any](fn func(ctx context.Context, in In) error) Func[In, struct{}] {
	return func(ctx context.Context, in In) (struct{}, error) { return struct{}{}, fn(ctx, in) }
}

// NoInput adapts a function without an input. Call the activity with struct{}{}.
func NoInput[Out any](fn func(ctx context.Context) (Out, error)) Func[struct{}, Out] {
	return func(ctx context.Context, _ struct{}) (Out, error) { return fn(ctx) }
}

// Task adapts a function with neither an input nor a result.
func Task(fn func(ctx context.Context) error) Func[struct{}, struct{}] {
	return func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, fn(ctx) }
}
