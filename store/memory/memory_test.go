package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/storetest"
)

func TestContract(t *testing.T) {
	for name, partitions := range map[string]int{"OnePartition": 1, "SeveralPartitions": 3} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(*testing.T) store.Opener { return memory.New(memory.Partitions(partitions)) })
		})
	}
}

func TestClock(t *testing.T) {
	storetest.Clock(t, func(_ *testing.T, clock func() int64) store.Opener { return memory.New(memory.Clock(clock)) })
}

func TestListenersAreToldWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := memory.New().Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var heard []store.News
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Listen(ctx, func(news store.News) { heard = append(heard, news) })
		synctest.Wait()
		run := store.Run{ID: "r", WorkflowID: "w", Type: "test", Chain: "r", RunState: store.RunState{Status: store.Running}}
		for _, act := range []func() error{
			func() error { return s.Create(ctx, run) },
			func() error { return s.Create(ctx, run) }, // nothing happens
			func() error { return s.Join(ctx, store.Node{ID: "n", Lease: time.Minute}) },
			func() error { return s.Join(ctx, store.Node{ID: "n", Lease: time.Minute}) },
			func() error { _, err := s.Renew(ctx, store.Renewal{Node: "n", Next: 1}); return err },
			func() error { _, err := s.Claim(ctx, "n", []int{0}); return err },
			func() error { return s.Release(ctx, "n", []int{0}) },
			func() error { return s.Release(ctx, "n", []int{0}) },
			func() error { return s.Leave(ctx, "n") },
			func() error { return s.Leave(ctx, "n") },
		} {
			if err := act(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		const message, nodes = store.NewsMessage, store.NewsNodes
		if want := []store.News{message | nodes | store.NewsSwitches | store.NewsTasks | store.NewsClaims, message, nodes, nodes, nodes}; !slices.Equal(heard, want) {
			t.Errorf("heard %b, want %b", heard, want)
		}
	})
}

func TestNodesOfThePastAreForgotten(t *testing.T) {
	now := int64(1)
	s, err := memory.New(memory.Clock(func() int64 { return now })).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	join := func(id string) {
		t.Helper()
		if err := s.Join(t.Context(), store.Node{ID: id, Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	join("owner") // silent, but what it owns is its own still
	if _, err := s.Claim(t.Context(), "owner", []int{0}); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		now += int64(time.Minute)
		join(fmt.Sprint("node-", i)) // and dies
	}
	members, err := s.Nodes(t.Context())
	if err != nil || len(members) > 110 || members[0].ID != "owner" || members[len(members)-1].ID != "node-999" {
		t.Errorf("%d nodes are remembered, from %+v on, %v", len(members), members[0], err)
	}
	if _, err := s.Renew(t.Context(), store.Renewal{Node: "owner", Next: 1}); err != nil {
		t.Errorf("the owner cannot come back: %v", err)
	}
	if _, err := s.Renew(t.Context(), store.Renewal{Node: "node-0", Next: 1}); !errors.Is(err, store.ErrReplaced) {
		t.Errorf("a forgotten node was answered %v", err)
	}
}
