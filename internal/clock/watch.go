package clock

import (
	"context"
	"time"
)

// Watch looks at something when it is told that there is news, and periodically in case a
// notification was lost.
type Watch struct {
	Bell  Bell          // rings for news
	Later Bell          // rings for news that can wait; nil for none
	Soon  time.Duration // how long that may wait
	Every time.Duration // how long without a look
}

// Run calls look until ctx ends. Look reports its errors itself.
func (w Watch) Run(ctx context.Context, look func() error) {
	timer := time.NewTimer(w.Every)
	defer timer.Stop()
	soon := false
	for {
		select {
		case <-w.Bell:
		case <-w.Later:
			if !soon {
				soon = true
				timer.Reset(min(w.Soon, w.Every))
			}
			continue
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-w.Later: // this look finds what can wait, too
		default:
		}
		if look() != nil && ctx.Err() != nil {
			return
		}
		soon = false
		timer.Reset(w.Every)
	}
}
