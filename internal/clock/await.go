package clock

import (
	"context"
	"sync"
)

// Await waits until a condition holds or ctx ends. It calls holds with the lock of c held,
// at first and after each Broadcast of c.
func Await(ctx context.Context, c *sync.Cond, holds func() bool) {
	stop := context.AfterFunc(ctx, func() {
		c.L.Lock()
		defer c.L.Unlock()
		c.Broadcast()
	})
	defer stop()
	c.L.Lock()
	defer c.L.Unlock()
	for !holds() && ctx.Err() == nil {
		c.Wait()
	}
}
