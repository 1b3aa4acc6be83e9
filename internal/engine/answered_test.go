package engine_test

import (
	"testing"
	"time"
)

// TestE40_WhoAsksAgainIsAnsweredAtOnce: who asks for an update that is under way already, under its
// ID, is answered when its handler is, and does not wait until it would ask the database again.
func TestE40_WhoAsksAgainIsAnsweredAtOnce(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		account := accounts("1")
		e := w.start(account, check)
		begin(t, e, account, "a", "")
		settle()
		began := time.Now()
		answered := make(chan time.Duration, 2)
		for range 2 {
			go func() {
				if got, err := change(t.Context(), e, "a", "once", deposit, 100); got != 100 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
				answered <- time.Since(began)
			}()
			pass(10*time.Second + 37*time.Millisecond) // looks at the database do not coincide with the end
		}
		for range 2 {
			same(t, "it took", <-answered, time.Minute)
		}
	})
}
