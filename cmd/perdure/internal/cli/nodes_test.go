package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/view"
)

var noon = time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)

// node is one that joined an hour before noon, was seen so long ago, and has a
// lease of ten seconds.
func node(name, group, state string, partitions int, seen time.Duration) view.Node {
	n := view.Node{ID: name + "/1", Name: name, Group: group, State: state, Partitions: partitions, Joined: noon.Add(-time.Hour), Seen: noon.Add(-seen), Build: "v1"}
	if state != view.NodeLeft {
		end := n.Seen.Add(10 * time.Second)
		n.Expires = &end
	}
	return n
}

func nodeTable(t *testing.T, gone int, nodes ...view.Node) string {
	t.Helper()
	scr, db, output := printer(noon)
	scr.env.Getenv = func(string) string { return "" }
	rootCommand(scr, db) // for the flags
	writeNodeTable(scr, db, nodes, gone, nil, noon)
	return "\n" + output()
}

func TestNodesSayWhenWorkGoesOn(t *testing.T) {
	got := nodeTable(t, 2,
		node("web-1", "", view.NodeLive, 128, time.Second),
		node("web-2", "", view.NodeLive, 100, 7*time.Second),
		node("web-3", "", view.NodeDraining, 28, 2*time.Second),
		node("web-4", "", view.NodeLeft, 0, time.Minute),
		node("web-5\x1b[2J", "", view.NodeExpired, 1, 11*time.Second),
		node("night-1", "night", view.NodeExpired, 200, time.Minute),
		node("batch-1", "batch", view.NodeLive, 1256, 8*time.Second))
	want := `
NODE            GROUP  STATE     PARTITIONS  SEEN       LEASE            JOINED                    BUILD
web-1                  live             128  1s ago     9s left          2000-01-01 11:00:00.000Z  v1
web-2                  live             100  7s ago     3s left          2000-01-01 11:00:00.000Z  v1
web-3                  draining          28  2s ago     8s left          2000-01-01 11:00:00.000Z  v1
web-4                  left               0  1m00s ago                   2000-01-01 11:00:00.000Z  v1
web-5\u001b[2J         expired            1  11s ago    expired 1s ago   2000-01-01 11:00:00.000Z  v1
night-1         night  expired          200  1m00s ago  expired 50s ago  2000-01-01 11:00:00.000Z  v1
batch-1         batch  live           1,256  8s ago     2s left          2000-01-01 11:00:00.000Z  v1

Build v1 has no workflows, and no activities.
web-2 is silent; unless it renews its lease, the work of its 100 partitions is taken over in 3s.
web-5\u001b[2J is dead; another node takes over the work of its 1 partition soon.
night-1 is dead; the work of its 200 partitions waits for an engine to start.
batch-1 is silent; unless it renews its lease, the work of its 1,256 partitions waits for an engine to start.
Not shown: 2 nodes that are gone. Add --all to see them.
`
	if got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestNodesOfAFileHaveNoLease(t *testing.T) {
	n := node("host:4711", "", view.NodeLive, 1, 3*time.Second)
	n.Expires = nil
	want := `
NODE       STATE  PARTITIONS  SEEN    JOINED                    BUILD
host:4711  live            1  3s ago  2000-01-01 11:00:00.000Z  v1

Build v1 has no workflows, and no activities.
`
	if got := nodeTable(t, 0, n); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestE116_NodesSayWhatTheyRun(t *testing.T) {
	blue, green, again, old := node("blue", "", view.NodeLive, 100, time.Second), node("green", "", view.NodeLive, 156, time.Second), node("green-2", "", view.NodeLive, 0, time.Second), node("gone", "", view.NodeLeft, 0, time.Minute)
	blue.Build, green.Build, again.Build, old.Build = "v1", "v2", "v2", "v0"
	blue.Workflows = []view.Definition{{Name: "checkout"}, {Name: "refund", Version: "7"}}
	blue.Activities = []string{"charge"}
	green.Activities = strings.Split("a b c d e f g h i j", " ")
	again.Activities = green.Activities
	want := `
NODE     STATE  PARTITIONS  SEEN       LEASE    JOINED                    BUILD
blue     live          100  1s ago     9s left  2000-01-01 11:00:00.000Z  v1
green    live          156  1s ago     9s left  2000-01-01 11:00:00.000Z  v2
green-2  live            0  1s ago     9s left  2000-01-01 11:00:00.000Z  v2
gone     left            0  1m00s ago           2000-01-01 11:00:00.000Z  v0

Build v1 has the workflows checkout, refund (version 7), and the activity charge.
Build v2 has no workflows, and the activities a, b, c, d, e, f, g, h and 2 more.
`
	if got := nodeTable(t, 0, blue, green, again, old); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestAWrongClockDoesNotContradictTheDatabase(t *testing.T) {
	nodes := []view.Node{node("a", "", view.NodeLive, 8, time.Second), node("b", "", view.NodeExpired, 8, time.Minute)}
	for clock, want := range map[time.Duration]time.Time{
		0: noon, time.Hour: *nodes[0].Expires, -time.Hour: nodes[0].Seen,
	} {
		if got := consistent(noon.Add(clock), nodes); !got.Equal(want) {
			t.Errorf("with a clock that is %s ahead it is %s, want %s", clock, got, want)
		}
	}
}

// listNodes reads the nodes as a program does.
func listNodes(t *testing.T, args ...string) []view.Node {
	t.Helper()
	stdout, stderr, code := call(t, append([]string{"nodes", "-o", "json"}, args...)...)
	var nodes []view.Node
	if err := json.Unmarshal([]byte(stdout), &nodes); err != nil || code != 0 {
		t.Fatalf("exit code %d: %v\n%s%s", code, err, stdout, stderr)
	}
	return nodes
}

// until waits for nodes to be as a condition says.
func until(t *testing.T, what string, holds func(nodes []view.Node) bool, args ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		nodes := listNodes(t, args...)
		if holds(nodes) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: after a minute the nodes are %+v", what, nodes)
		}
	}
}

// TestE80_ADeadNodeIsShownUntilItsWorkIsTakenOver joins as a node that gives no
// further sign of life, and then starts an engine.
func TestE80_ADeadNodeIsShownUntilItsWorkIsTakenOver(t *testing.T) {
	url := pgtest.Database(t)
	db, err := postgres.URL(url).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Join(t.Context(), store.Node{ID: "ghost/1", Name: "ghost", Lease: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Claim(t.Context(), "ghost/1", []int{0, 1, 2}); err != nil {
		t.Fatal(err)
	}
	until(t, "the ghost's lease runs out", func(nodes []view.Node) bool {
		return len(nodes) == 1 && nodes[0].Name == "ghost" && nodes[0].State == view.NodeExpired && nodes[0].Partitions == 3
	}, "--db", url)
	stdout, _, code := call(t, "nodes", "--db", url)
	for _, want := range []string{"ghost", "expired", "expired ", "No node serves this database. Work waits until an engine starts.", "ghost is dead; the work of its 3 partitions waits for an engine to start."} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d; it does not say %q:\n%s", code, want, stdout)
		}
	}
	fixtures["shop"].serve(t, postgres.URL(url), func() {
		until(t, "the engine takes the work over", func(nodes []view.Node) bool {
			return len(nodes) == 1 && nodes[0].Name == "node-1" && nodes[0].State == view.NodeLive && nodes[0].Partitions == 256 && nodes[0].Expires != nil
		}, "--db", url)
		until(t, "with --all the ghost is still listed", func(nodes []view.Node) bool {
			return slices.ContainsFunc(nodes, func(n view.Node) bool { return n.Name == "ghost" && n.State == view.NodeExpired && n.Partitions == 0 })
		}, "--db", url, "--all")
	})
}
