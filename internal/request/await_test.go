package request

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// looks counts how often await looks until it is done at a time.
func looks(at time.Time, n *int) func(ended) (bool, error) {
	return func(ended) (bool, error) {
		*n++
		return !time.Now().Before(at), nil
	}
}

func TestANotificationEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		defer c.Close()
		began, told := time.Now(), ended(nil)
		go func() {
			time.Sleep(time.Hour)
			c.Notify("run")
			synctest.Wait()
			c.Ended("workflow", "run", core.State{Status: core.StatusCompleted})
		}()
		n := 0
		err := c.await(t.Context(), 0, "run", 0, func(e ended) (bool, error) {
			n, told = n+1, e
			return e != nil, nil
		})
		if err != nil || n != 3 || told == nil || told.Status != core.StatusCompleted {
			t.Errorf("it looked %d times and was told %+v, error %v", n, told, err)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("it took %s", took)
		}
		if n := c.Waiting(); n != 0 {
			t.Errorf("%d things are awaited", n)
		}
	})
}

func TestPausesGrowUpToTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		defer c.Close()
		n := 0
		if err := c.await(t.Context(), 0, "run", shortPause, looks(time.Now().Add(time.Second), &n)); err != nil {
			t.Fatal(err)
		}
		// 2, 4, 8, 16, 32 ms, and then 50 ms each
		if n != 25 {
			t.Errorf("it looked %d times in a second", n)
		}
	})
}

func TestAPartitionThatMovesIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{})
		defer c.Close()
		n := 0
		go func() {
			time.Sleep(time.Minute)
			c.Moved(map[int]bool{7: true})
			time.Sleep(time.Minute)
			c.Moved(map[int]bool{8: true})
		}()
		if err := c.await(t.Context(), 8, "run", 0, looks(time.Now().Add(2*time.Minute), &n)); err != nil || n != 2 {
			t.Errorf("it looked %d times, error %v", n, err)
		}
	})
}

func TestAWaitEndsWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		definite := errors.New("definite")
		away := &store.UnavailableError{Err: errors.New("no database")}
		for name, test := range map[string]struct {
			look func(ended) (bool, error)
			want error
		}{
			"the caller gives up":        {func(ended) (bool, error) { return false, nil }, context.DeadlineExceeded},
			"no database all the time":   {func(ended) (bool, error) { return false, away }, context.DeadlineExceeded},
			"an error that stays":        {func(ended) (bool, error) { return false, definite }, definite},
			"an answer that is an error": {func(ended) (bool, error) { return true, away }, away},
		} {
			c := New(Config{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := c.await(ctx, 0, "run", longPause, test.look); !errors.Is(err, test.want) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
			c.Close()
		}
		c := New(Config{})
		time.AfterFunc(time.Minute, c.Close)
		if err := c.await(t.Context(), 0, "run", 0, func(ended) (bool, error) { return false, nil }); !errors.Is(err, ErrStopped) {
			t.Errorf("the client is closed: %v", err)
		}
		if err := c.check(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("a request to a closed client: %v", err)
		}
	})
}
