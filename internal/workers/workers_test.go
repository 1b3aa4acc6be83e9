package workers

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestTasksRunAndWorkersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		var p Pool
		var ran atomic.Int64
		for range 3 { // fresh workers, then idle ones
			var all sync.WaitGroup
			for range 2 * maxIdle {
				all.Add(1)
				p.Run(func() { ran.Add(1); all.Done() })
			}
			all.Wait()
			synctest.Wait()
		}
		if n := ran.Load(); n != 6*maxIdle {
			t.Errorf("%d tasks ran, want %d", n, 6*maxIdle)
		}
		if n := len(p.idle); n > maxIdle {
			t.Errorf("%d workers are kept, want at most %d", n, maxIdle)
		}
		p.Stop()
		p.Wait()
	})
}
