package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// TestRivalsForAName join at one time: the last of them is the member.
func TestRivalsForAName(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			n := store.Node{ID: fmt.Sprint("rival-", i), Name: "the one", Lease: 1 << 40, Supersede: true}
			if err := w.Join(t.Context(), n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	members, err := w.Nodes(t.Context())
	w.must(err)
	live := 0
	for _, m := range members {
		if m.Name == "the one" && m.Live {
			live++
		}
	}
	if live != 1 || len(members) != 9 {
		t.Errorf("%d of %d are live", live, len(members))
	}
}

func TestManyMakeGroupsAtOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	first := map[string]int{}
	for i := range 12 {
		wg.Go(func() {
			name := fmt.Sprint("group ", i%3)
			g, err := w.another().Group(t.Context(), name)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if known, ok := first[name]; ok && known != g.First || g.Partitions != 4 || g.First%4 != 0 || g.First == 0 {
				t.Errorf("group %q is at %d and at %d", name, known, g.First)
			}
			first[name] = g.First
		})
	}
	wg.Wait()
	if got := w.value(`SELECT count(*) || ' to ' || max(id) FROM perdure.partitions`); got != "16 to 15" {
		t.Errorf("partitions: %s", got)
	}
}

// TestOldNodesAndOwnersAreForgotten but not what they tell of those that are
// remembered.
func TestOldNodesAndOwnersAreForgotten(t *testing.T) {
	w := newWorld(t)
	w.must(w.Join(t.Context(), w.describe("leaver")))
	w.must(w.Release(t.Context(), w.node, []int{2}))
	_, err := w.Claim(t.Context(), "leaver", []int{2})
	w.must(err)
	w.must(w.Leave(t.Context(), "leaver"))
	w.exec(`INSERT INTO perdure.nodes (id, name, node_group, build, wards, lease, supersede, joined, seen, alive, clock, departed)
		SELECT 'old-' || n, '', '', '', false, 1, false, 1, 1, 1, 1, 1 FROM generate_series(1, $1::integer) n`, remembered)
	w.exec(`UPDATE perdure.nodes SET ordinal = DEFAULT WHERE id LIKE 'old-%'`)
	w.must(w.Join(t.Context(), w.describe("late")))
	members, err := w.Nodes(t.Context())
	w.must(err)
	if len(members) != remembered+2 { // and the two that are there
		t.Errorf("%d nodes", len(members))
	}
	owners, err := w.Owners(t.Context(), 2)
	w.must(err)
	if len(owners) != 2 || owners[1].Node != "leaver" || !owners[1].Survived {
		t.Errorf("owners %+v", owners)
	}
	w.exec(`UPDATE perdure.partitions SET epoch = epoch + $1 - 2 WHERE id = 2`, remembered)
	_, err = w.Claim(t.Context(), "late", []int{2})
	w.must(err)
	owners, err = w.Owners(t.Context(), 2)
	w.must(err)
	if len(owners) != 2 || owners[0].Node != "leaver" || owners[1].Node != "late" {
		t.Errorf("owners %+v", owners)
	}
}

// TestALeaseIsNoLongerForAClockThatWasSetBack lets a node die before the clock is
// set back by a day.
func TestALeaseIsNoLongerForAClockThatWasSetBack(t *testing.T) {
	const day = 24 * 60 * 60 * 1_000_000_000
	now := int64(10 * day)
	s, err := newClocked(t, func() int64 { return now }).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := &world{TB: t}
	for _, id := range []string{"dead", "alive"} {
		w.must(s.Join(t.Context(), w.describe(id)))
	}
	now -= day
	for i, want := range []int{2, 1} {
		m, err := s.Renew(t.Context(), store.Renewal{Node: "alive", Last: int64(i), Next: int64(i + 1)})
		w.must(err)
		if len(m.Nodes) != want {
			t.Errorf("the members are %+v", m.Nodes)
		}
		now += int64(w.describe("").Lease)
	}
}

// TestAClaimReadsTheTimeOnce takes over from a node whose lease ends between any two readings
// of a clock that moves with each.
func TestAClaimReadsTheTimeOnce(t *testing.T) {
	w := newWorld(t)
	w.must(w.Join(t.Context(), w.describe("dead")))
	w.must(w.Join(t.Context(), w.describe("heir")))
	w.exec(`CREATE SEQUENCE perdure.test_clock MINVALUE 0`)
	w.exec(`CREATE OR REPLACE FUNCTION perdure.now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('perdure.test_clock') $$`)
	const lease = 1000
	for readings := range 8 {
		w.exec(`UPDATE perdure.partitions SET node = 'dead', clock = 0 WHERE id = 1`)
		w.exec(`UPDATE perdure.nodes SET clock = 0, seen = 0, lease = CASE id WHEN 'dead' THEN $1 ELSE 1000000 * $1 END`, lease)
		w.exec(`SELECT setval('perdure.test_clock', $1)`, lease-readings)
		w.clock.Store(0)
		claimed, err := w.Claim(t.Context(), "heir", []int{1})
		w.must(err)
		for _, o := range claimed {
			if o.Since < lease {
				t.Errorf("after %d readings: taken over %d before the lease was over", readings, lease-o.Since)
			}
		}
	}
}

// TestReadersDoNotCostALease lets more readers wait for a table than there are
// connections. A node renews its lease all the same.
func TestReadersDoNotCostALease(t *testing.T) {
	w := newWorldAt(t, pgtest.Shared(t).DSN("postgres")+"&pool_max_conns=4", Schema(freshSchema()))
	other := newWorldAt(t, pgtest.Shared(t).DSN("postgres"), Schema(w.schema))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	other.must(other.hold(ctx, "a test", func(c *conn) error {
		return c.transact(ctx, func(pgx.Tx) error {
			if _, err := c.exec(ctx, `LOCK TABLE perdure.runs IN ACCESS EXCLUSIVE MODE`); err != nil {
				return err
			}
			for range 10 {
				wg.Go(func() { w.List(ctx, store.Filter{}) })
			}
			other.eventually("two readers wait", func() bool { return len(w.shared) == cap(w.shared) && other.waiting() })
			_, err := w.Renew(ctx, store.Renewal{Node: w.node, Next: 1})
			return err
		})
	}))
	cancel()
	wg.Wait()
}

// TestE135_CommitsDoNotCostALease lets more commits wait than there are connections, as those
// of several lanes may while a server is away. A node renews its lease all the same.
func TestE135_CommitsDoNotCostALease(t *testing.T) {
	w := newWorldAt(t, pgtest.Shared(t).DSN("postgres")+"&pool_max_conns=4", Schema(freshSchema()))
	other := newWorldAt(t, pgtest.Shared(t).DSN("postgres"), Schema(w.schema))
	w.claim()
	var turns []store.Turn
	for range 6 {
		turns = append(turns, w.first(w.newRun()))
	}
	var wg sync.WaitGroup
	other.must(other.hold(t.Context(), "a test", func(c *conn) error {
		return c.transact(t.Context(), func(pgx.Tx) error {
			if _, err := c.exec(t.Context(), `SELECT FROM perdure.partitions FOR UPDATE`); err != nil {
				return err
			}
			for _, turn := range turns {
				wg.Go(func() {
					if err := w.committing(turn)(); err != nil {
						t.Error(err)
					}
				})
			}
			other.eventually("three commits wait", func() bool {
				return other.value(`SELECT (count(*) >= 3)::text FROM pg_stat_activity
				WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%FOR SHARE%'`, w.schema) == "true"
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // as something that hangs
			defer cancel()
			_, err := w.Renew(ctx, store.Renewal{Node: w.node, Next: 1})
			return err
		})
	}))
	wg.Wait()
}

// TestNoRunMovesBesideA32BitProcess, which cannot tell the places of a partition apart.
func TestNoRunMovesBesideA32BitProcess(t *testing.T) {
	w := newWorld(t)
	run := w.created()
	w.must(w.Join(t.Context(), w.describe("host")))
	w.must(w.Join(t.Context(), w.describe("narrow")))
	w.exec(`UPDATE perdure.nodes SET wards = false WHERE id = 'narrow'`) // as such a process joins
	m := store.Move{Partition: run.Partition, Epoch: w.epoch, Run: run.ID, To: "host"}
	if err := w.Move(t.Context(), m); !errors.Is(err, store.ErrNoPlace) {
		t.Errorf("a run moves beside a process of 32 bits: %v", err)
	}
	w.must(w.Leave(t.Context(), "narrow"))
	w.must(w.Move(t.Context(), m))
}
