package activity_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
)

func TestE27_FunctionsRunInOrderUntilOneFails(t *testing.T) {
	boom := errors.New("boom")
	ctx := activity.NewContext(t.Context(), activity.Info{})
	var ran []string
	for _, f := range []struct {
		name string
		err  error
	}{{"a", nil}, {"b", nil}, {"c", boom}, {"d", nil}} {
		if err := activity.OnCommit(ctx, func(_ context.Context, tx string) error {
			ran = append(ran, f.name+tx)
			return f.err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := activity.Commits(ctx)(ctx, "!"); err != boom || fmt.Sprint(ran) != "[a! b! c!]" {
		t.Errorf("%v, %v", err, ran)
	}
}

func TestE27_WhatCannotRunIsRefused(t *testing.T) {
	attempt := activity.NewContext(t.Context(), activity.Info{})
	over := activity.NewContext(t.Context(), activity.Info{})
	if activity.Commits(over) != nil || activity.Commits(t.Context()) != nil {
		t.Error("nothing was handed over")
	}
	nothing := func(context.Context, any) error { return nil }
	for _, c := range []struct {
		ctx  context.Context
		fn   func(context.Context, any) error
		want string
	}{
		{t.Context(), nothing, "ctx is not the one"},
		{over, nothing, "the body has returned before"},
		{attempt, nil, "the function is nil"},
	} {
		if err := activity.OnCommit(c.ctx, c.fn); !retry.IsTerminal(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if activity.Commits(attempt) != nil {
		t.Error("what was refused is not there")
	}
}

func TestE27_TheTransactionMustBeOfTheRightType(t *testing.T) {
	ran := 0
	add := map[string]func(context.Context) error{
		"any": func(ctx context.Context) error {
			return activity.OnCommit(ctx, func(context.Context, any) error { ran++; return nil })
		},
		"Tx": func(ctx context.Context) error {
			return activity.OnCommit(ctx, func(context.Context, *sql.Tx) error { ran++; return nil })
		},
		"interface": func(ctx context.Context) error {
			return activity.OnCommit(ctx, func(context.Context, fmt.Stringer) error { ran++; return nil })
		},
	}
	for _, c := range []struct {
		takes string
		tx    any
		want  string // the error, empty if it runs
	}{
		{"any", nil, ""},
		{"any", &sql.Tx{}, ""},
		{"Tx", &sql.Tx{}, ""},
		{"Tx", nil, "takes a *sql.Tx, but the engine's database keeps no tables"},
		{"Tx", "tx", "takes a *sql.Tx, which the engine's database does not give"},
		{"interface", nil, "takes a fmt.Stringer, but the engine's database keeps no tables"},
		{"interface", "tx", "takes a fmt.Stringer, which the engine's database does not give"},
		{"interface", time.Second, ""},
	} {
		ran = 0
		ctx := activity.NewContext(t.Context(), activity.Info{})
		if err := add[c.takes](ctx); err != nil {
			t.Fatal(err)
		}
		err := activity.Commits(ctx)(ctx, c.tx)
		switch {
		case c.want == "" && (err != nil || ran != 1):
			t.Errorf("%s, given %T: %v", c.takes, c.tx, err)
		case c.want != "" && (!retry.IsTerminal(err) || !strings.Contains(err.Error(), c.want) || ran != 0):
			t.Errorf("%s, given %T: %v", c.takes, c.tx, err)
		}
	}
}

// A test of a body runs its step transaction on a database of the test's.
func ExampleCommits() {
	reserve := func(ctx context.Context, item string) (string, error) {
		return "reserved", activity.OnCommit(ctx, func(ctx context.Context, tx any) error {
			fmt.Println("in the transaction:", tx, item)
			return nil
		})
	}
	ctx := activity.NewContext(context.Background(), activity.Info{CallID: "run-1/3"})
	fmt.Println(reserve(ctx, "book"))
	fmt.Println(activity.Commits(ctx)(ctx, "UPDATE stock"))
	// Output:
	// reserved <nil>
	// in the transaction: UPDATE stock book
	// <nil>
}
