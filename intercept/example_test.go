package intercept_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

type tenantKey struct{}

// Tenant takes the tenant of whoever starts a run to the activities of the run and of its
// children, and refuses starts without one.
var Tenant = intercept.New("tenant", func(ctx context.Context, op *intercept.Op, next intercept.Next) error {
	switch op.Kind {
	case intercept.Start:
		tenant, ok := ctx.Value(tenantKey{}).(string)
		if !ok {
			return errors.New("the caller has no tenant")
		}
		op.Headers["tenant"] = tenant
	case intercept.Attempt:
		ctx = context.WithValue(ctx, tenantKey{}, op.Headers["tenant"])
	}
	return next(ctx)
}, intercept.Start, intercept.Attempt)

var Greet = activity.New("greet", func(ctx context.Context, name string) (string, error) {
	return fmt.Sprintf("hello %s of %v", name, ctx.Value(tenantKey{})), nil
})

var Hello = workflow.New("hello", func(wf *workflow.Context, name string) (string, error) {
	return workflow.Call(wf, Greet, name)
})

func Example() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(Hello, Greet), perdure.Intercept(Tenant))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(perdure.Run(context.WithValue(ctx, tenantKey{}, "acme"), eng, Hello, "hello-1", "ann"))
	_, err = perdure.Run(ctx, eng, Hello, "hello-2", "bob")
	fmt.Println(err)
	// Output:
	// hello ann of acme <nil>
	// perdure: start "hello-2": the caller has no tenant
}
