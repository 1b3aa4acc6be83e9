package workload

import (
	"sync"
	"sync/atomic"
)

// atOnce calls do for 0 to n-1, at most width at a time, and answers the first
// error, after which it begins nothing more.
func atOnce(width, n int, do func(i int) error) error {
	var (
		workers sync.WaitGroup
		next    atomic.Int64
		first   atomic.Pointer[error]
	)
	for range min(width, n) {
		workers.Go(func() {
			for first.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	workers.Wait()
	if err := first.Load(); err != nil {
		return *err
	}
	return nil
}
