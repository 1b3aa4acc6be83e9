package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestI7_EngineTimeStaysWithTheDatabase: a node whose clock is faster than the
// database's, or whose database was set back, does not go on to be ahead of it.
func TestI7_EngineTimeStaysWithTheDatabase(t *testing.T) {
	for _, c := range []struct {
		name    string
		rate    float64 // of the database's clock
		setBack time.Duration
		after   time.Duration
		within  time.Duration
	}{
		{"a slow database", 0.9998, 0, 30 * 24 * time.Hour, 2 * time.Second},
		{"a fast database", 1.0002, 0, 30 * 24 * time.Hour, time.Second},
		{"set back a little", 1, 2 * time.Minute, 5 * time.Hour, 2 * time.Second},
		{"set back a lot", 1, time.Hour, 5 * time.Hour, time.Hour + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				database := func() int64 {
					return began.UnixNano() + int64(float64(time.Since(began))*c.rate) - int64(c.setBack)
				}
				clock := New(began.UnixNano())
				last := clock.Now()
				for time.Since(began) < c.after {
					time.Sleep(time.Minute)
					clock.Observe(database())
					now := clock.Now()
					if now < last {
						t.Fatalf("it went back by %s", time.Duration(last-now))
					}
					last = now
				}
				if off := time.Duration(clock.Now() - database()); off < -time.Duration(leap) || off > c.within {
					t.Errorf("it is off by %s", off)
				}
			})
		})
	}
}

// TestI7_NothingIsDueEarly: who waits as long as until says does not wake before
// the time, also while engine time is slowed down, and not much after it.
func TestI7_NothingIsDueEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := New(time.Now().UnixNano())
		clock.Observe(clock.Now() - int64(5*time.Minute))
		for _, d := range []time.Duration{time.Nanosecond, 98, 99, 100, 101, 20 * time.Millisecond, time.Second, 10 * time.Minute} {
			due := clock.Now() + int64(d)
			time.Sleep(clock.Until(due))
			if late := clock.Now() - due; late < 0 || late > 2 {
				t.Errorf("after %s it is %d ns late", d, late)
			}
		}
		clock = New(time.Now().UnixNano())
		clock.Observe(clock.Now() - int64(1500*time.Millisecond))
		for _, d := range []time.Duration{time.Minute, 10 * time.Minute, time.Hour} { // it catches up on the way, or has
			due := clock.Now() + int64(d)
			time.Sleep(clock.Until(due))
			if late := clock.Now() - due; late < 0 || late > 2 {
				t.Errorf("a little ahead, after %s it is %d ns late", d, late)
			}
		}
		if clock.Until(clock.Now()) != 0 || clock.Until(clock.Now()-5) != -5 {
			t.Error("what is due is not in the future")
		}
	})
}

// TestI7_NoWaitIsShortenedByWhatTheClockLearns: results of the database are as old as they
// took to arrive. A wait that began after a slow one lasts as long as it should.
func TestI7_NoWaitIsShortenedByWhatTheClockLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, slow := range []time.Duration{time.Millisecond, 4 * time.Millisecond, 50 * time.Millisecond} {
			for _, wait := range []time.Duration{20 * time.Millisecond, 500 * time.Millisecond, time.Minute} {
				clock := New(0)
				clock.Begin(time.Now().Add(-slow).UnixNano())
				began := time.Now()
				due := clock.Now() + int64(wait)
				for clock.Now() < due {
					clock.Observe(time.Now().UnixNano()) // a fast one
					time.Sleep(max(1, min(clock.Until(due), wait/7)))
				}
				short := wait - time.Since(began)
				if short > wait/faster+time.Microsecond || short > slow {
					t.Errorf("after a result %s old a wait of %s is %s too short", slow, wait, short)
				}
				for range 3 { // and it does catch up
					time.Sleep(2 * faster * slow)
					clock.Observe(time.Now().UnixNano())
				}
				if lag := time.Now().UnixNano() - clock.Now(); lag < 0 || lag > int64(time.Microsecond) {
					t.Errorf("it lags by %s", time.Duration(lag))
				}
			}
		}
	})
}

// TestI7_ThePastSlowsNothing: that it was some time long ago does not make engine
// time look ahead of the database.
func TestI7_ThePastSlowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := New(time.Now().UnixNano())
		clock.AtLeast(clock.Now() - int64(time.Hour))
		before := clock.Now()
		time.Sleep(time.Minute)
		if passed := time.Duration(clock.Now() - before); passed != time.Minute {
			t.Errorf("in a minute engine time went on by %s", passed)
		}
		clock.AtLeast(clock.Now() + int64(time.Hour))
		if passed := time.Duration(clock.Now() - before); passed != time.Hour+time.Minute {
			t.Errorf("it is %s later, want an hour and a minute", passed)
		}
	})
}
