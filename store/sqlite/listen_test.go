package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/store"
)

func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := owned(t, Exclusive())
		client, err := File(h.path, Exclusive()).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		var heard []time.Time
		var news store.News
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Listen(ctx, func(n store.News) { heard, news = append(heard, time.Now()), n }) }()
		synctest.Wait()
		heard = nil
		time.Sleep(365 * 24 * time.Hour) // polling would take 1.6 billion looks
		synctest.Wait()
		if len(heard) > 0 {
			t.Errorf("heard %v while nothing was posted", heard)
		}
		run := *firstTurn(0, "r").Create
		if err := client.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(heard) != 1 || !heard[0].Equal(time.Now()) || news != store.NewsMessage {
			t.Errorf("heard %b at %v, want one message at once, at %v", news, heard, time.Now())
		}
		if err := h.Release(t.Context(), "n", []int{0}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(heard) != 2 || news != store.NewsNodes {
			t.Errorf("heard %b at %v, want one more, of nodes", news, heard)
		}
		inbox, err := client.Inbox(t.Context(), []int{0}, store.InboxRead{})
		if err != nil || inbox[0].Posted != time.Now().UnixNano() {
			t.Errorf("the store's time is %+v, %v; want the virtual one", inbox, err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestListenPollsWithoutNoise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, epoch := owned(t)
		heard := 0
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Listen(ctx, func(store.News) { heard++ }) }()
		time.Sleep(time.Second)
		synctest.Wait()
		heard = 0
		for i := range 10 { // our own commits are no news
			if err := commitAll(t.Context(), h, firstTurn(epoch, fmt.Sprint(i)), store.Turn{Epoch: epoch, Run: fmt.Sprint(i), Number: 2}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if heard > 0 {
			t.Errorf("heard %d times of turns that told nobody anything", heard)
		}
		// Another program's write, which nobody announces.
		other, err := connect(t.Context(), dsn(h.path, "rw"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.close()
		if _, err := other.exec("INSERT INTO meta VALUES ('x', 'y')"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if heard != 1 {
			t.Errorf("heard %d times of another program's write within 100 ms, want once", heard)
		}
		cancel()
		<-ended
	})
}
