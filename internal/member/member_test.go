package member

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// fakeHolder serves what it is handed. Work is set by tests.
type fakeHolder struct {
	mu      sync.Mutex
	changed *sync.Cond
	served  map[int]Partition
	log     []string
	renewed func() // called in Renewed
}

func newHolder() *fakeHolder {
	h := &fakeHolder{served: map[int]Partition{}}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *fakeHolder) Served() (ps []Partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.served {
		ps = append(ps, p)
	}
	return ps
}

func (h *fakeHolder) Taken(node string, owned []store.Ownership) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range owned {
		h.served[o.Partition] = Partition{Number: o.Partition, Epoch: o.Epoch, Node: node}
	}
}

// each changes those of the partitions that are still served; it returns false for
// those that are not to be any more.
func (h *fakeHolder) each(ps []Partition, change func(p *Partition) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range ps {
		if now, is := h.served[p.Number]; is && now.Epoch == p.Epoch {
			if change(&now) {
				h.served[p.Number] = now
			} else {
				delete(h.served, p.Number)
			}
		}
	}
	h.changed.Broadcast()
}

func (h *fakeHolder) Lost(ps []Partition) {
	h.note("lost")
	h.each(ps, func(*Partition) bool { return false })
}
func (h *fakeHolder) Close(ps []Partition) {
	h.each(ps, func(p *Partition) bool { p.Closed = true; return true })
}
func (h *fakeHolder) Reopen(ps []Partition) {
	h.each(ps, func(p *Partition) bool { p.Closed = false; return true })
}

func (h *fakeHolder) DropQuiet(ctx context.Context, ps []Partition) (quiet, rest []Partition) {
	defer context.AfterFunc(ctx, h.changed.Broadcast)()
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		quiet, rest = nil, nil
		for _, p := range ps {
			switch now, is := h.served[p.Number]; {
			case !is:
			case now.Work == 0:
				delete(h.served, p.Number)
				quiet = append(quiet, now)
			default:
				rest = append(rest, now)
			}
		}
		if len(rest) < len(ps) || ctx.Err() != nil {
			return quiet, rest
		}
		h.changed.Wait()
	}
}

func (h *fakeHolder) Renewed(*store.Membership) {
	h.note("renewed")
	if h.renewed != nil {
		h.renewed()
	}
}

func (h *fakeHolder) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, what)
}

// work says how much is at work in each partition.
func (h *fakeHolder) work(n int) {
	h.each(h.Served(), func(p *Partition) bool { p.Work = n; return true })
}

// open returns the partitions in which something may begin.
func (h *fakeHolder) open() []int {
	return numbers(slices.DeleteFunc(h.Served(), func(p Partition) bool { return p.Closed }))
}

// cut is a store that can be cut off from one node.
type cut struct {
	store.Owner
	mu    sync.Mutex
	off   bool
	hangs bool // claims do not return before their context ends
	keeps bool // releases fail
}

func (c *cut) Release(ctx context.Context, node string, partitions []int) error {
	c.mu.Lock()
	keeps := c.keeps
	c.mu.Unlock()
	if keeps {
		return &store.UnavailableError{Op: "release", Err: errors.New("the line is cut")}
	}
	return c.Owner.Release(ctx, node, partitions)
}

func (c *cut) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	c.mu.Lock()
	hangs := c.hangs
	c.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c.Owner.Claim(ctx, node, partitions)
}

func (c *cut) set(off bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
}

func (c *cut) Renew(ctx context.Context, r store.Renewal) (*store.Membership, error) {
	c.mu.Lock()
	off := c.off
	c.mu.Unlock()
	if off {
		return nil, &store.UnavailableError{Op: "renew", Err: errors.New("the line is cut")}
	}
	return c.Owner.Renew(ctx, r)
}

// node is a member that runs, on a store that is shared.
type node struct {
	*Member
	holder *fakeHolder
	line   *cut
	end    context.CancelFunc
	ended  sync.WaitGroup
}

const term = 10 * time.Second

var quiet = logs.New(slog.New(slog.DiscardHandler), false)

func begin(t *testing.T, db store.Store, name string, supersede bool) *node {
	t.Helper()
	return beginLogging(t, db, name, supersede, quiet)
}

func beginLogging(t *testing.T, db store.Store, name string, supersede bool, log *logs.Log) *node {
	t.Helper()
	n := &node{holder: newHolder(), line: &cut{Owner: db}}
	var ctx context.Context
	ctx, n.end = context.WithCancel(t.Context())
	n.Member = New(ctx, Config{
		Store: n.line, Shared: true, Name: name, Lease: term, Supersede: supersede,
		Clock: clock.New(time.Now().UnixNano()), Watch: outage.New(quiet), Holder: n.holder, Log: log,
	})
	if err := n.Join(ctx); err != nil {
		t.Fatal(err)
	}
	id, owned, err := n.TakeShare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n.holder.Taken(id, owned)
	n.ended.Go(n.Run)
	t.Cleanup(n.kill)
	return n
}

// kill ends a node without a word.
func (n *node) kill() {
	n.end()
	n.ended.Wait()
}

// inGroup runs a test in virtual time on a database with 8 partitions.
func inGroup(t *testing.T, test func(t *testing.T, db store.Store)) {
	synctest.Test(t, func(t *testing.T) {
		db, err := memory.New(memory.Partitions(8)).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Group(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		test(t, db)
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func demand(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}

func TestNodesShareThePartitions(t *testing.T) {
	inGroup(t, func(t *testing.T, db store.Store) {
		a := begin(t, db, "a", false)
		demand(t, "a node alone serves", len(a.holder.open()), 8)
		b := begin(t, db, "b", false)
		pass(term)
		demand(t, "a", len(a.holder.open()), 4)
		demand(t, "b", len(b.holder.open()), 4)
		b.Drain()
		b.Kick()
		pass(term)
		demand(t, "a, when b has drained", len(a.holder.open()), 8)
		demand(t, "b, when it has drained", len(b.holder.Served()), 0)
	})
}

// TestStoppingIsNoOutage: a node that stops while it claims partitions does not say that the
// database is away.
func TestStoppingIsNoOutage(t *testing.T) {
	inGroup(t, func(t *testing.T, db store.Store) {
		a, b := begin(t, db, "a", false), begin(t, db, "b", false)
		pass(2 * term)
		a.line.mu.Lock()
		a.line.hangs = true
		a.line.mu.Unlock()
		b.kill()
		pass(term + time.Second) // its lease has expired, and a claims
		a.kill()
		if err := a.config.Watch.Err(); err != nil {
			t.Errorf("the database is away: %v", err)
		}
	})
}

func TestPartitionsAtWorkStay(t *testing.T) {
	inGroup(t, func(t *testing.T, db store.Store) {
		a := begin(t, db, "a", false)
		a.holder.work(1)
		b := begin(t, db, "b", false)
		a.Kick()
		pass(patience / 2)
		demand(t, "a closes what is too much", len(a.holder.open()), 4)
		pass(patience)
		demand(t, "a reopens what is at work", len(a.holder.open()), 8)
		a.holder.work(0)
		pass(moveAgain + term)
		demand(t, "a", len(a.holder.open()), 4)
		demand(t, "b", len(b.holder.open()), 4)
	})
}

// TestE63_AHandoverThatFailsIsLogged: with the reason. The node goes on with what it could not hand
// over, and tries again.
func TestE63_AHandoverThatFailsIsLogged(t *testing.T) {
	inGroup(t, func(t *testing.T, db store.Store) {
		var text bytes.Buffer
		a := beginLogging(t, db, "a", false, logs.New(slog.New(slog.NewTextHandler(&text, nil)), false))
		fail := func(keeps bool) {
			a.line.mu.Lock()
			defer a.line.mu.Unlock()
			a.line.keeps = keeps
		}
		fail(true)
		b := begin(t, db, "b", false)
		a.Kick()
		pass(time.Millisecond)
		demand(t, "b", len(b.holder.open()), 0)
		if said := text.String(); !strings.Contains(said, "event=partitions_kept") || !strings.Contains(said, "the line is cut") || strings.Contains(said, "event=partitions_given") {
			t.Errorf("the log says %q", said)
		}
		fail(false)
		pass(2 * term)
		demand(t, "a", len(a.holder.open()), 4)
		demand(t, "b", len(b.holder.open()), 4)
		if said := text.String(); !strings.Contains(said, "event=partitions_given") {
			t.Errorf("the log says %q", said)
		}
	})
}

func TestTakeoverWhenTheLeaseExpires(t *testing.T) {
	inGroup(t, func(t *testing.T, db store.Store) {
		a, b := begin(t, db, "a", false), begin(t, db, "b", false)
		pass(term)
		a.kill()
		pass(term + term/3 + time.Second)
		demand(t, "b", len(b.holder.open()), 8)
	})
}

// TestE7_LeaseIsGivenUpBeforeOthersTakeIt: a node that is cut off does not rely on its
// lease any more when another takes its partitions, and drops them before it does again.
func TestE7_LeaseIsGivenUpBeforeOthersTakeIt(t *testing.T) {
	inGroup(t, func(t *testing.T, db store.Store) {
		a, b := begin(t, db, "a", false), begin(t, db, "b", false)
		pass(term)
		a.line.set(true)
		for len(b.holder.open()) == 4 {
			held := a.Holds()
			pass(10 * time.Millisecond)
			if held && len(b.holder.open()) > 4 {
				t.Fatal("the lease held when another node took over")
			}
		}
		if err := a.Health(); err == nil || a.Holds() {
			t.Errorf("a node that is cut off is fit: %v", err)
		}
		demand(t, "a does not know yet", len(a.holder.Served()), 4)
		a.holder.log = nil
		a.holder.renewed = func() {
			if len(a.holder.log) == 2 && !a.Holds() {
				t.Error("the lease does not hold after it was renewed")
			}
		}
		a.line.set(false)
		pass(2 * time.Second)
		if got := a.holder.log[:2]; !slices.Equal(got, []string{"lost", "renewed"}) {
			t.Errorf("the holder heard %q", got)
		}
		if err := a.Health(); err != nil {
			t.Error(err)
		}
		pass(3 * term)
		demand(t, "a is back", len(a.holder.open()), 4)
		demand(t, "b", len(b.holder.open()), 4)
	})
}

func TestSuccessorOfTheSameName(t *testing.T) {
	inGroup(t, func(t *testing.T, db store.Store) {
		a := begin(t, db, "a", true)
		again := begin(t, db, "a", true)
		pass(term)
		demand(t, "the first", len(a.holder.Served()), 0)
		demand(t, "its successor", len(again.holder.open()), 8)
		if err := a.Replaced(); err == nil {
			t.Error("the first is healthy")
		}
	})
}
