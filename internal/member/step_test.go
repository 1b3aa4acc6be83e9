package member

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/store/memory"
)

// TestE7_AStepOfTheClockMovesNothing: when the database's clock leaps forward all leases are
// over at that moment. Whoever lives renews its own before another takes what it has; what the
// dead have is taken all the same. A clock that is set back makes no lease longer.
func TestE7_AStepOfTheClockMovesNothing(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, 2 * term, -time.Hour, -term} {
		for _, offset := range []time.Duration{0, term / 10, term / 4} { // between the renewals of the two
			synctest.Test(t, func(t *testing.T) {
				var ahead atomic.Int64
				db, err := memory.New(memory.Partitions(8), memory.Clock(func() int64 { return time.Now().UnixNano() + ahead.Load() })).Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := db.Group(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				a := begin(t, db, "a", false)
				pass(offset)
				b := begin(t, db, "b", false)
				pass(3 * term)
				before := a.holder.Served()
				ahead.Store(int64(step))
				pass(3 * term)
				if now := a.holder.Served(); !slices.Equal(sorted(before), sorted(now)) || slices.Contains(a.holder.log, "lost") || slices.Contains(b.holder.log, "lost") {
					t.Errorf("%s, %s: a served %v and serves %v; it noted %q, b %q", step, offset, before, now, a.holder.log, b.holder.log)
				}
				b.kill()
				ahead.Store(2 * int64(step))
				pass(2*term + term/2)
				demand(t, "a, when b is dead", len(a.holder.open()), 8)
			})
		}
	}
}

// sorted returns partitions by number.
func sorted(ps []Partition) []Partition {
	slices.SortFunc(ps, func(a, b Partition) int { return a.Number - b.Number })
	return ps
}
