package activity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
)

type order struct{ ID int }

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// from decodes JSON, as an engine does.
func from(text string) func(any) error {
	return func(into any) error { return json.Unmarshal([]byte(text), into) }
}

func TestDeclarations(t *testing.T) {
	declared := activity.Declare[int, int]("double", activity.Retry(retry.Never))
	if declared.Name() != "double" || seal.Of(declared).Invoke != nil || seal.Of(declared).Options.Retry == nil || seal.Of(declared).Options.Retry.MaxAttempts != 1 {
		t.Errorf("%+v", declared)
	}
	full := declared.Impl(double)
	if seal.Of(full).Invoke == nil || seal.Of(declared).Invoke != nil || seal.Of(full).Options.Retry == nil {
		t.Error("Impl changed the handle, or lost an option")
	}
	var _ activity.Definition = full
	if seal.Of(activity.New("double", double)).Options.Retry != nil {
		t.Error("an option that no declaration set")
	}
}

func TestLikeTakesOverTheOptions(t *testing.T) {
	full := activity.New("double", double, activity.Retry(retry.Never))
	like := activity.Declare[json.RawMessage, json.RawMessage]("double", activity.Like(full), activity.Priority(7))
	if o := seal.Of(like).Options; o.Retry == nil || o.Retry.MaxAttempts != 1 || o.Priority != 7 || seal.Of(full).Options.Priority != 0 {
		t.Errorf("Like takes over %+v", o)
	}
}

func TestInvoke(t *testing.T) {
	ctx := context.Background()
	if out, err := seal.Of(activity.New("double", double)).Invoke(ctx, from("21")); out != 42 || err != nil {
		t.Errorf("%v, %v", out, err)
	}
	_, err := seal.Of(activity.New("double", double)).Invoke(ctx, from(`"x"`))
	if !retry.IsTerminal(err) || !strings.Contains(err.Error(), `activity "double": json`) {
		t.Errorf("%v", err)
	}
	broken := errors.New("broken")
	fails := activity.New("fails", func(context.Context, *order) (*order, error) { return nil, broken })
	if _, err := seal.Of(fails).Invoke(ctx, from(`{"ID": 1}`)); err != broken {
		t.Errorf("%v", err)
	}
}

// The policy of a handle is its own: what the caller does later with theirs does
// not reach it.
func TestPoliciesAreCopied(t *testing.T) {
	p := retry.Policy{MaxAttempts: 3}
	a := activity.New("double", double, activity.Retry(p))
	p.MaxAttempts = 9
	if got := seal.Of(a).Options.Retry.MaxAttempts; got != 3 {
		t.Errorf("%d", got)
	}
}

func TestE20_WhatCannotBeHonoredIsRefused(t *testing.T) {
	for _, c := range []struct {
		policy retry.Policy
		want   []string
	}{
		{retry.Policy{}, nil},
		{retry.Standard, nil},
		{retry.Policy{QueueTimeout: time.Second, CrashLimit: 1, AttemptTimeout: time.Second, HeartbeatTimeout: time.Second}, nil},
		{retry.Policy{MaxAttempts: 3, OnExhausted: retry.Pause}, nil},
		{retry.Policy{MaxAttempts: -1, OnExhausted: retry.Pause}, []string{"MaxAttempts"}},
	} {
		err := (&seal.ActivityOptions{Retry: &c.policy}).Validate()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%+v: %v", c.policy, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v does not say %q", c.policy, err, want)
			}
		}
	}
	if err := (&seal.ActivityOptions{}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestE26_InfoAndIdempotencyKey(t *testing.T) {
	ctx := context.Background()
	if _, ok := activity.FromContext(ctx); ok || activity.IdempotencyKey(ctx) != "" {
		t.Error("there is no attempt here")
	}
	info := activity.Info{CallID: "r/1", AttemptID: "r/1.2", Attempt: 2, Max: 5}
	ctx, cancel := context.WithCancel(activity.NewContext(ctx, info))
	defer cancel()
	if got, ok := activity.FromContext(ctx); !ok || !reflect.DeepEqual(got, info) || activity.IdempotencyKey(ctx) != "r/1" {
		t.Errorf("%+v", got)
	}
	want := retry.AttemptInfo{TraceID: "r/1", ID: "r/1.2", Number: 2, Max: 5}
	if got, ok := retry.FromContext(ctx); !ok || got != want {
		t.Errorf("for package retry the attempt is %+v, want %+v", got, want)
	}
	retry.Heartbeat(ctx) // no engine listens
	inner := activity.NewContext(ctx, activity.Info{CallID: "r/2"})
	if activity.IdempotencyKey(inner) != "r/2" || activity.IdempotencyKey(ctx) != "r/1" {
		t.Error("the innermost attempt counts")
	}
}

// A body is tested like any function.
func ExampleNewContext() {
	charge := func(ctx context.Context, cents int) (string, error) {
		info, _ := activity.FromContext(ctx)
		return fmt.Sprintf("%d cents, attempt %d, key %s", cents, info.Attempt, activity.IdempotencyKey(ctx)), nil
	}
	ctx := activity.NewContext(context.Background(), activity.Info{CallID: "run-1/3", Attempt: 2})
	fmt.Println(charge(ctx, 500))
	// Output: 500 cents, attempt 2, key run-1/3 <nil>
}
