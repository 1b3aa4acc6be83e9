package around_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
)

// TestE112_APanicIsNotHidden: an interceptor that recovers from a panic of what it stands
// around, and returns nil, would make an attempt complete without a result.
func TestE112_APanicIsNotHidden(t *testing.T) {
	chain, err := around.New([]intercept.Interceptor{intercept.New("calm", func(ctx context.Context, _ *intercept.Op, next intercept.Next) error {
		defer func() { _ = recover() }()
		return next(ctx)
	})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = chain.Do(t.Context(), &intercept.Op{Kind: intercept.Attempt, Name: "charge"}, func(context.Context) error { panic("no card") })
	if fault, is := errors.AsType[*intercept.FaultError](err); !is || !strings.Contains(fault.Problem, "hid a panic") {
		t.Errorf("the attempt comes to %v", err)
	}
}
