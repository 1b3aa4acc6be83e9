package steptx

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/workers"
	"github.com/perdure/perdure/store"
)

func TestFunctionsAreBounded(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		f     Func
		want  error  // wrapped
		text  string // contained
		after time.Duration
	}{
		{"returns", func(context.Context, any) error { return nil }, nil, "", 0},
		{"fails", func(context.Context, any) error { return broken }, broken, "", 0},
		{"panics", func(context.Context, any) error { panic("oh") }, nil, "oh", 0},
		{"calls Goexit", func(context.Context, any) error { runtime.Goexit(); return nil }, nil, "Goexit", 0},
		{"heeds its context", func(ctx context.Context, _ any) error { <-ctx.Done(); return broken }, broken, "longer than 3s", store.HookLimit},
		{"heeds nothing", func(context.Context, any) error { time.Sleep(time.Minute); return nil }, store.ErrHookLeft, "goes on", store.HookLimit + grace},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pool workers.Pool
				defer pool.Wait()
				defer pool.Stop()
				r := Runner{Life: t.Context(), Pool: &pool}
				began := time.Now()
				err := r.Run(t.Context(), c.f, nil)
				if took := time.Since(began); took != c.after {
					t.Errorf("it took %s, want %s", took, c.after)
				}
				if (err == nil) != (c.want == nil && c.text == "") {
					t.Fatalf("the error is %v", err)
				}
				if err != nil && (!errors.Is(err, c.want) && c.want != nil || !strings.Contains(err.Error(), c.text)) {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}
