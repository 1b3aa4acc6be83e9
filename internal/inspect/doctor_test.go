package inspect

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// listed counts the runs that pages of several partitions were chosen from.
type listed struct {
	store.Store
	partitions, pages int
}

func (l *listed) List(ctx context.Context, f store.Filter) ([]store.Run, error) {
	l.pages++
	l.partitions = max(l.partitions, len(f.Partitions))
	return l.Store.List(ctx, f)
}

// TestI25_TheDoctorReadsEachRunOnce: partition by partition, page by page, and says how far
// it has come.
func TestI25_TheDoctorReadsEachRunOnce(t *testing.T) {
	in, db := open(t)
	counted := &listed{Store: db}
	in.db = counted
	const runs = 3*doctorRuns + 7
	for n := range runs {
		create(t, in, db, fmt.Sprint("w", n), n)
	}
	last := 0
	c, err := in.Doctor(t.Context(), view.DoctorFilter{Progress: func(n int) {
		if n < last {
			t.Errorf("%d runs after %d", n, last)
		}
		last = n
	}})
	if err != nil || !c.OK || c.Runs != runs || last != runs {
		t.Errorf("%+v, last %d: %v", c, last, err)
	}
	if counted.partitions != 1 || counted.pages < 4 {
		t.Errorf("%d pages, of up to %d partitions", counted.pages, counted.partitions)
	}
}
