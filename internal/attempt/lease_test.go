package attempt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/history"
)

// looks are the ways in which a body can find out that it must not act.
var looks = map[string]func(ctx, derived context.Context) error{
	"Err":                   func(ctx, _ context.Context) error { return ctx.Err() },
	"Done":                  func(ctx, _ context.Context) error { <-ctx.Done(); return ctx.Err() },
	"a context made before": func(_, derived context.Context) error { <-derived.Done(); return derived.Err() },
	"a context made after, as net/http does": func(ctx, _ context.Context) error {
		derived, free := context.WithCancel(ctx)
		defer free()
		return derived.Err()
	},
}

// TestU4_ABodyThatStoodStillSeesThatItsLeaseIsOver: by its own clock, at its first look, before
// anything else of its process went on.
func TestU4_ABodyThatStoodStillSeesThatItsLeaseIsOver(t *testing.T) {
	for name, look := range looks {
		for _, limit := range []time.Duration{0, time.Hour} {
			t.Run(name, func(t *testing.T) {
				onStage(t, func(t *testing.T, s *stage) {
					s.lease.Store(int64(10 * time.Second))
					s.begin(dispatch.Regular, core.Dispatch{Leased: true, AttemptTimeout: limit}, func(ctx context.Context) (history.Payload, error) {
						derived, free := context.WithCancel(ctx)
						defer free()
						if err := ctx.Err(); err != nil {
							t.Errorf("at first: %v", err)
						}
						if name != "a context made before" {
							s.holds.Store(false) // no timer has fired
						} else {
							time.AfterFunc(time.Second, func() { s.holds.Store(false) })
						}
						err := look(ctx, derived)
						if err == nil || context.Cause(ctx) != errLate {
							t.Errorf("the body sees %v, and the cause %v", err, context.Cause(ctx))
						}
						return history.Payload{}, err
					})
					time.Sleep(10 * time.Second)
					if end := s.ended(t); end.Outcome != core.Drained {
						t.Errorf("it ended %+v", end)
					}
				})
			})
		}
	}
}

// TestU4_ALeaseThatIsRenewedEndsNothing: neither does one that is over the attempts of calls
// that are simply repeated.
func TestU4_ALeaseThatIsRenewedEndsNothing(t *testing.T) {
	for _, leased := range []bool{true, false} {
		onStage(t, func(t *testing.T, s *stage) {
			s.lease.Store(int64(10 * time.Second)) // from whenever it is asked
			s.begin(dispatch.Regular, core.Dispatch{Leased: leased}, func(ctx context.Context) (history.Payload, error) {
				return history.Payload{}, context.Cause(ctx)
			})
			synctest.Wait()
			s.begin(dispatch.Regular, core.Dispatch{Leased: leased}, func(ctx context.Context) (history.Payload, error) {
				time.Sleep(time.Minute)
				s.holds.Store(leased)
				err := ctx.Err()
				s.holds.Store(true)
				return history.Payload{}, err
			})
			time.Sleep(2 * time.Minute)
			for _, end := range s.heard().ends {
				if end.Input.Outcome != core.Completed {
					t.Errorf("leased %t: it ended %+v", leased, end.Input)
				}
			}
			if n := len(s.heard().ends); n != 2 {
				t.Errorf("%d ends", n)
			}
		})
	}
}
