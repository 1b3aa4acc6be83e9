package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// TestE85_AFrozenHolderIsNotWaitedFor has a session that does what a process does that
// stands still: it locks the partitions, and then nothing is heard of it. The server's own
// limit is off, as it is for one that waits for the rest of a statement.
func TestE85_AFrozenHolderIsNotWaitedFor(t *testing.T) {
	for name, lock := range map[string]string{
		"a commit": `SELECT FROM perdure.partitions FOR SHARE`,
		"a claim":  `SELECT FROM perdure.nodes, perdure.partitions FOR UPDATE`,
	} {
		for verb, take := range map[string]func(w *world, h *handle) error{
			"Claim": func(w *world, h *handle) error {
				owned, err := h.Claim(w.Context(), "node-2", []int{0, 1, 2, 3})
				if err == nil && len(owned) != 4 {
					w.Errorf("claimed %+v", owned)
				}
				return err
			},
			"Join": func(w *world, h *handle) error {
				n := w.describe("node-3")
				n.Supersede, n.Lease = true, short
				return h.Join(w.Context(), n)
			},
		} {
			t.Run(name+" before "+verb, func(t *testing.T) {
				w := newWorld(t)
				other := w.another()
				second := w.describe("node-2")
				second.Name, second.Lease = "another node", short
				w.must(other.Join(t.Context(), second))
				w.exec(`UPDATE perdure.nodes SET seen = 0, lease = 1 WHERE id = $1`, w.node)
				frozen := make(chan error, 1)
				locked := make(chan struct{})
				goOn := make(chan struct{})
				go func() {
					frozen <- w.hold(t.Context(), "freeze", func(c *conn) error {
						return c.transact(t.Context(), func(tx pgx.Tx) error {
							_, err := c.exec(t.Context(), lock)
							close(locked)
							<-goOn
							if err == nil {
								_, err = c.exec(t.Context(), `SELECT 1`)
							}
							return err
						})
					})
				}()
				<-locked
				w.must(take(w, other))
				close(goOn)
				if err := <-frozen; !store.Undone(err) {
					t.Errorf("what stood still says %v", err)
				}
			})
		}
	}
}

// TestE108_ATakeoverEndsNothingThatItsHolderMayStillDo: a node with a short lease waits
// for a transaction of one with a longer lease, as long as that lease lets it stand still.
func TestE108_ATakeoverEndsNothingThatItsHolderMayStillDo(t *testing.T) {
	w := newWorld(t)
	other := w.another()
	second := w.describe("node-2")
	second.Name, second.Lease = "another node", short
	w.must(other.Join(t.Context(), second))
	// The holder is a member with a lease of an hour. Its partitions can be taken all the same.
	w.exec(`UPDATE perdure.nodes SET lease = $2 WHERE id = $1`, w.node, int64(time.Hour))
	w.exec(`UPDATE perdure.partitions SET node = NULL`)
	claimed := make(chan error, 1)
	w.must(w.hold(t.Context(), "hold", func(c *conn) error {
		return c.transact(t.Context(), func(pgx.Tx) error {
			if _, err := c.exec(t.Context(), `SELECT FROM perdure.partitions FOR SHARE`); err != nil {
				return err
			}
			go func() {
				_, err := other.Claim(t.Context(), "node-2", []int{0, 1, 2, 3})
				claimed <- err
			}()
			// Another session, as this one has to stand still.
			pid := c.raw.PgConn().PID()
			w.eventually("the transaction stands still for longer than the lease of who waits", func() bool {
				return w.value(`SELECT coalesce(bool_and(state_change < clock_timestamp() - interval '1.5 seconds'), true)::text
					FROM pg_stat_activity WHERE pid = $1`, pid) == "true"
			})
			_, err := c.exec(t.Context(), `SELECT 1`)
			return err
		})
	}))
	w.must(<-claimed)
}

// short is a lease, and so how long a transaction may stand still.
const short = 200 * time.Millisecond

// TestE85_TheServerEndsWhatStandsStill: without anybody who takes over, the transaction of
// a hook that stands still ends when the lease is over.
func TestE85_TheServerEndsWhatStandsStill(t *testing.T) {
	w := newWorld(t)
	node := w.describe("short")
	node.Name, node.Lease = "with a short lease", short
	w.must(w.Join(t.Context(), node))
	run := w.created()
	turn := w.turn(run, 2)
	turn.Hook = func(tx any) error {
		pid := tx.(pgx.Tx).Conn().PgConn().PID()
		w.eventually("the server ends the transaction", func() bool {
			return w.value(`SELECT count(*)::text FROM pg_stat_activity WHERE pid = $1`, pid) == "0"
		})
		return nil
	}
	if err := w.committing(turn)(); err == nil {
		t.Error("the turn is durable")
	}
	w.commits(w.turn(run, 2))
}

func TestE85_NoTransactionIsHeldLongerThanTheLease(t *testing.T) {
	w := newWorld(t)
	for _, lease := range []time.Duration{time.Second, time.Hour} {
		node := w.describe("node of " + lease.String())
		node.Name, node.Lease = lease.String(), lease
		w.must(w.Join(t.Context(), node))
		if got, want := w.idleness(), min(lease, store.HookLimit+time.Second); got != want {
			t.Errorf("lease %s: transactions may stand still for %s, want %s", lease, got, want)
		}
	}
}
