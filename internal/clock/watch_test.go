package clock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestE83_AWatchLooksAgainWhateverHappened: at once for news, soon for what can wait, once for news of
// both sorts, and after a while without any; also when a look has failed. It ends with its context.
func TestE83_AWatchLooksAgainWhateverHappened(t *testing.T) {
	for _, fails := range []error{nil, errors.New("the database is away")} {
		synctest.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			w := Watch{Bell: NewBell(), Later: NewBell(), Soon: 2 * time.Second, Every: 10 * time.Second}
			began := time.Now()
			var looks []int
			ended := false
			go func() {
				w.Run(ctx, func() error {
					looks = append(looks, int(time.Since(began)/time.Second))
					return fails
				})
				ended = true
			}()
			at := func(second int) {
				time.Sleep(time.Until(began.Add(time.Duration(second) * time.Second)))
				synctest.Wait()
			}
			at(1)
			w.Bell.Ring() // a look at 1
			at(3)
			w.Later.Ring() // at 5
			at(4)
			w.Later.Ring() // at 5 as well
			at(6)
			w.Later.Ring()
			at(7)
			w.Bell.Ring()  // at 7, for both
			at(39)         // at 17, 27 and 37
			w.Later.Ring() // at 41
			at(42)
			end()
			at(100)
			if got, want := fmt.Sprint(looks), "[1 5 7 17 27 37 41]"; got != want || !ended {
				t.Errorf("looks that end with %v are at %s, want %s; the watch has ended: %v", fails, got, want, ended)
			}
		})
	}
}
