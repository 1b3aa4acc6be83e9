package activity

import "context"

// NoResult makes a body of a function that returns only an error:
//
//	var Notify = activity.New("notify", activity.NoResult(func(ctx context.Context, m Mail) error {
//		return smtp.Send(ctx, m)
//	}))
func NoResult[In any](fn func(ctx context.Context, in In) error) Func[In, struct{}] {
	return func(ctx context.Context, in In) (struct{}, error) { return struct{}{}, fn(ctx, in) }
}

// NoInput makes a body of a function without an input. Its calls pass struct{}{}.
func NoInput[Out any](fn func(ctx context.Context) (Out, error)) Func[struct{}, Out] {
	return func(ctx context.Context, _ struct{}) (Out, error) { return fn(ctx) }
}

// Task makes a body of a function with neither an input nor a result.
func Task(fn func(ctx context.Context) error) Func[struct{}, struct{}] {
	return func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, fn(ctx) }
}
