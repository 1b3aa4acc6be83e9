package clustertest

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/postgres"
)

var (
	times = flag.Int("times", extent.AtNight(1, 8), "how many times as much is done to the nodes at random moments")
	seed  = flag.Uint64("seed", 0, "fixes the random moments; 0 draws a new one")
)

// cluster is a database, its nodes, and a client.
type cluster struct {
	t      *testing.T
	server *pgtest.Cluster
	dsn    string // as this process connects
	book   *witness.Book
	client *perdure.Engine
	random *rand.Rand

	all    []*node        // that there ever were
	limits map[string]int // of attempts in the queue, by label
	later  string         // the program of nodes to come; none: this one
	load   *witness.Load
	allow  string // what nodes may complain of besides

	mu   sync.Mutex
	crew []*node // that clients may ask, see relay

	asking  sync.Mutex
	session *pgx.Conn // of ask; nil: none yet
}

// subtest is a part of a test.
type subtest struct {
	name string
	run  func(t *testing.T)
}

// together runs subtests that wait most of the time, some at a time, however few
// processors there are.
func together(t *testing.T, cases []subtest) {
	t.Helper()
	var all sync.WaitGroup
	places := make(chan struct{}, 6)
	for _, c := range cases {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(c.name, c.run)
		})
	}
	all.Wait()
}

// newCluster makes a database on a server, and a client of it.
func newCluster(t *testing.T, server *pgtest.Cluster) *cluster {
	t.Helper()
	return newClusterAt(t, server, server.Database(t))
}

// newClusterAt is newCluster on a database that there is.
func newClusterAt(t *testing.T, server *pgtest.Cluster, dsn string) *cluster {
	t.Helper()
	top, _, _ := strings.Cut(t.Name(), "/")
	t.Logf("again: go test -race ./internal/clustertest -run '^%s$' -seed %d -times %d", top, *seed, *times)
	c := &cluster{t: t, server: server, dsn: dsn, book: openBook(t), limits: map[string]int{}, random: rand.New(rand.NewPCG(*seed, 1<<40))}
	client, err := perdure.Open(t.Context(), postgres.URL(pooled(c.dsn), postgres.Partitions(partitions)),
		perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	c.client = client
	t.Cleanup(func() {
		for _, n := range c.all {
			n.Kill()
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if c.session != nil {
			c.session.Close(context.Background())
		}
		if t.Failed() {
			for _, n := range c.all {
				t.Logf("node %s (%s) said:\n%s", n.Label, n.Name, n.Said())
			}
			if c.load != nil {
				t.Logf("the clients found %v", c.load.Found())
			}
		}
	})
	return c
}

// underLoad makes a database on a server, with two nodes of even shares and a load that asks
// both. Runs that have not ended after this number of minutes are failures.
func underLoad(t *testing.T, server *pgtest.Cluster, minutes int) (c *cluster, nodes []*node, load *witness.Load) {
	t.Helper()
	c = newCluster(t, server)
	nodes = c.two()
	return c, nodes, c.loaded(time.Duration(minutes) * time.Minute)
}

// two starts two nodes, which clients may ask, and waits until their shares are even.
func (c *cluster) two() []*node {
	c.t.Helper()
	nodes := []*node{c.start("a", torture.Setup{}), c.start("b", torture.Setup{Name: "b"})}
	c.awaitShares(nodes...)
	c.setCrew(nodes...)
	return nodes
}

// loaded begins a load, of which runs are failures that have not ended after the time. Of
// the workflows these are as frequent as all others together.
func (c *cluster) loaded(within time.Duration, mostly ...string) *witness.Load {
	c.t.Helper()
	return c.loadedWith(nil, within, mostly...)
}

// loadedWith is loaded with jobs besides those of witness.
func (c *cluster) loadedWith(more map[string]witness.Job, within time.Duration, mostly ...string) *witness.Load {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	c.t.Cleanup(cancel)
	load := c.newLoad()
	load.More = more
	jobs := slices.Concat(slices.Collect(maps.Keys(witness.Jobs)), slices.Collect(maps.Keys(more)))
	for _, name := range mostly {
		for _, other := range jobs {
			load.Only = append(load.Only, name, other)
		}
	}
	slices.Sort(load.Only) // the seed decides
	load.Begin(ctx)
	return load
}

// conclude ends a load and holds against the book what these nodes, which are all, made of it.
func (c *cluster) conclude(load *witness.Load, nodes []*node) {
	c.t.Helper()
	end := load.End()
	c.awaitShares(nodes...)
	c.awaitHealth(nodes...)
	c.verdict(end)
}

// patience ends a test in which something does not happen that must. It decides
// nothing else.
const patience = time.Minute

// glance is the time between two looks at what a test waits for. Each look asks the database,
// and a dozen tests look at once.
const glance = 50 * time.Millisecond

// newProxy puts a network between the server and a node.
func (c *cluster) newProxy() *proxy {
	c.t.Helper()
	return newProxy(c.t, c.server.Socket())
}

// through is the database by way of a proxy.
func (c *cluster) through(p *proxy) string {
	c.t.Helper()
	config, err := pgx.ParseConfig(c.dsn)
	if err != nil {
		c.t.Fatal(err)
	}
	return pooled(p.dsn(config.Database))
}

// pooled keeps a node from using more connections on a machine with many cores:
// there are many nodes.
func pooled(dsn string) string {
	if !strings.Contains(dsn, "?") {
		return dsn + "?pool_max_conns=4"
	}
	return dsn + "&pool_max_conns=4"
}

// begin starts a node's process and tells it to open, which the channel answers.
func (c *cluster) begin(label string, s torture.Setup) (*node, <-chan error) {
	c.t.Helper()
	if s.Database == "" {
		s.Database = pooled(c.dsn)
	}
	if s.Concurrency == 0 {
		s.Concurrency = 16
	}
	if s.Lease == 0 {
		s.Lease = lease
	}
	if s.Queue == 0 {
		s.Queue = 4
	}
	if s.Queue > 0 {
		c.limits[label] = min(s.Queue, s.Concurrency)
	}
	s.Book = c.book.Address()
	n := spawn(c.t, label, cmp.Or(c.later, os.Args[0]))
	c.all = append(c.all, n)
	opened := make(chan error, 1)
	go func() {
		opened <- n.Open(s)
		close(opened)
	}()
	return n, opened
}

// start starts a node.
func (c *cluster) start(label string, s torture.Setup) *node {
	c.t.Helper()
	n, opened := c.begin(label, s)
	if err := <-opened; err != nil {
		c.t.Fatalf("node %s: %v", label, err)
	}
	return n
}

// ask queries the database itself, and returns one text per row. Looks that are repeated share a
// session: to begin one costs the server many times as much as to answer.
func (c *cluster) ask(sql string, args ...any) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.session != nil {
		if rows, err := texts(c.session.Query(ctx, sql, args...)); err == nil {
			return rows, nil
		}
		c.session.Close(ctx) // the server may be another one since, or its schema
	}
	var err error
	if c.session, err = pgx.Connect(ctx, c.dsn); err != nil {
		c.session = nil
		return nil, err
	}
	return texts(c.session.Query(ctx, sql, args...))
}

func texts(rows pgx.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// query is ask where nothing can go wrong.
func (c *cluster) query(sql string, args ...any) []string {
	c.t.Helper()
	rows, err := c.ask(sql, args...)
	if err != nil {
		c.t.Fatalf("%v\n%s", err, sql)
	}
	return rows
}

// await waits until something holds.
func (c *cluster) await(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(glance) {
		if time.Now().After(end) {
			c.t.Fatalf("it did not come about that %s; the nodes are %v, the shares %v", what, c.query(`SELECT nodes::text FROM perdure.nodes`), c.shares())
		}
	}
}

// shares says how many partitions each live node owns, by its name; wards are no shares.
func (c *cluster) shares() map[string]int {
	c.t.Helper()
	shares := map[string]int{}
	for _, name := range c.query(`SELECT n.Name FROM perdure.partitions p JOIN perdure.nodes n ON n.id = p.node WHERE n.departed IS NULL AND n.expires > perdure.now() AND p.id < 1 << 30`) {
		shares[name]++
	}
	return shares
}

// awaitShares waits until these nodes, and no others, have even shares of all
// partitions.
func (c *cluster) awaitShares(nodes ...*node) {
	c.t.Helper()
	c.await("the shares are even", func() bool { return even(c.shares(), nodes) })
}

func even(shares map[string]int, nodes []*node) bool {
	sum, least, most := 0, partitions, 0
	for _, n := range nodes {
		had := shares[n.Name]
		sum, least, most = sum+had, min(least, had), max(most, had)
	}
	return sum == partitions && most-least <= 1
}

// awaitOwner waits until a node owns all partitions.
func (c *cluster) awaitOwner(n *node) {
	c.t.Helper()
	c.await("node "+n.Label+" owns all partitions", func() bool { return c.shares()[n.Name] == partitions })
}

// idOn makes a workflow ID whose run is placed on a partition that the node owns.
func (c *cluster) idOn(n *node, prefix string) string {
	c.t.Helper()
	owned := c.query(`SELECT p.id::text FROM perdure.partitions p JOIN perdure.nodes n ON n.id = p.node WHERE n.Name = $1 AND n.departed IS NULL`, n.Name)
	for k := 0; ; k++ {
		id := fmt.Sprint(prefix, " ", k)
		h := fnv.New64a() // as the engine places them
		h.Write([]byte(id))
		if slices.Contains(owned, fmt.Sprint(h.Sum64()%partitions)) {
			return id
		}
	}
}

// relay lets the load's clients ask the nodes of the crew, too.
type relay struct{ *cluster }

func (r relay) some() *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.crew[rand.IntN(len(r.crew))]
}

func (r relay) Start(shape, id string, v int) (string, error) { return r.some().Start(shape, id, v) }
func (r relay) Signal(id string, n int) error                 { return r.some().Signal(id, n) }
func (r relay) Result(id string) (int, error)                 { return r.some().Result(id) }

// setCrew says which nodes clients may ask.
func (c *cluster) setCrew(nodes ...*node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crew = slices.Clone(nodes)
}

// newLoad is clients that never rest, and ask the nodes of the crew, too.
func (c *cluster) newLoad() *witness.Load {
	c.load = &witness.Load{Engine: c.client, Book: c.book, Seed: *seed, Relay: relay{c}}
	return c.load
}

// verdict looks whether the load ended as it would have without faults, and
// nothing was left.
func (c *cluster) verdict(end witness.Case) {
	c.t.Helper()
	end.Zombies = true // on a machine that is busy enough, any node may be one
	end.Limits = c.limits
	judge(c.t, end)
	counts, err := ops.Counts(c.t.Context(), c.client, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	if counts.Runs["completed"]+counts.Runs["canceled"] != len(end.Runs) || len(end.Runs) == 0 {
		c.t.Errorf("at the end there are %+v, want %d runs, all over", counts, len(end.Runs))
	}
	c.nothingLeft()
	c.listen()
	c.t.Logf("%d runs, %d entries in the book, %d calls seen closed", len(end.Runs), len(end.Entries), len(end.Closed))
}

// listen looks whether a node said what none may say.
func (c *cluster) listen() {
	c.t.Helper()
	for _, n := range c.all {
		for _, line := range n.Complaints() {
			if c.allow == "" || !strings.Contains(line, c.allow) {
				c.t.Errorf("node %s says: %s", n.Label, line)
			}
		}
	}
}

// awaitHealth waits until nothing keeps the nodes from working.
func (c *cluster) awaitHealth(nodes ...*node) {
	c.t.Helper()
	for _, n := range nodes {
		c.await("node "+n.Label+" is healthy", func() bool { return n.health() == "" })
	}
}

// awaitProgress waits until a number of further runs of a load have ended.
func (c *cluster) awaitProgress(l *witness.Load, runs int) {
	c.t.Helper()
	runs += l.Finished()
	c.await("runs continue", func() bool { return l.Finished() >= runs })
}

// moment is a random time, shorter than the given one.
func (c *cluster) moment(shorter time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(shorter)))
}

// nothingLeft looks for what nobody will ever touch again.
func (c *cluster) nothingLeft() {
	c.t.Helper()
	for what, sql := range torture.Remains("perdure") {
		c.await("no "+what, func() bool { return len(c.query(sql)) == 0 })
	}
}

// openBook opens a book of effects for a test.
func openBook(t *testing.T) *witness.Book {
	t.Helper()
	b, err := witness.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// judge holds the book against what is on record.
func judge(t *testing.T, c witness.Case) {
	t.Helper()
	for _, f := range c.Judge(t.Context(), nil).Found {
		t.Error(f)
	}
}
