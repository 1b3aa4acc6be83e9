package clustertest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
)

// envNode tells the test binary that it is a node.
const envNode = "PERDURE_CLUSTERTEST_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(envNode) == "" {
		flag.Parse()
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		os.Exit(m.Run())
	}
	if err := torture.Serve(torture.Host{Opener: opener, Options: definitions, Start: startHere}); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// lease is that of nodes of which nothing else is said.
const lease = 2 * time.Second

// partitions is how many the nodes share.
const partitions = 12

func opener(s torture.Setup) (store.Opener, error) {
	of := []postgres.Option{postgres.Partitions(partitions)}
	if s.Pooled {
		of = append(of, postgres.Pooled())
	}
	return postgres.URL(s.Database, of...), nil
}

// definitions are what nodes have besides those of witness.
func definitions(s torture.Setup, pen *witness.Pen) []perdure.Option {
	var all []perdure.Option
	if !s.Worker {
		all = append(all, stationDefinitions(pen))
	}
	if s.Build != "" {
		all = append(all, perdure.Register(pinned))
	}
	return all
}

// startHere starts a run of a workflow that witness does not know.
func startHere(ctx context.Context, e *perdure.Engine, in torture.Request) (run string, known bool, err error) {
	w := stationNamed(in.Shape)
	if in.Shape == pinned.Name() {
		w = &pinned
	}
	if w == nil {
		return "", false, nil
	}
	h, err := perdure.Start(ctx, e, *w, in.ID, in.Value)
	return h.RunID(), true, err
}

// node is a process as a test sees it.
type node struct {
	*torture.Process
	t *testing.T
}

// spawn starts a process of a program that is going to be a node.
func spawn(t *testing.T, label, program string) *node {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), envNode+"=1")
	p, err := torture.Spawn(label, cmd, isComplaint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill) // whatever happens to the test
	return &node{p, t}
}

// stop makes the process stand still.
func (n *node) stop() { n.must(n.Freeze()) }

// proceed lets it continue.
func (n *node) proceed() { n.must(n.Thaw()) }

// health is what the node says of itself.
func (n *node) health() string {
	n.t.Helper()
	problem, err := n.Health()
	n.must(err)
	return problem
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatalf("node %s: %v\n%s", n.Label, err, n.Said())
	}
}

// proxy is a network with a server that has a socket.
type proxy struct{ *torture.Proxy }

func newProxy(t *testing.T, socket string) *proxy {
	t.Helper()
	p, err := torture.NewProxy(dial(socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return &proxy{p}
}

func dial(socket string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.Dial("unix", socket) }
}

// dsn is how to connect to a database through the proxy.
func (p *proxy) dsn(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.Address(), database)
}

// isComplaint reports whether a line is one that no node may write here: in some tests processes
// come under the names of others.
func isComplaint(line string) bool {
	return torture.IsComplaint(line) && !strings.Contains(line, "event=superseded")
}
