package clustertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
)

// TestE83_ASynchronousStandbyTakesOver crashes the primary under the work of two nodes
// and promotes its synchronous standby. The nodes know both by one URL. What was
// acknowledged is there, nothing runs twice without being on record, and the work goes on
// without a restart of any process.
func TestE83_ASynchronousStandbyTakesOver(t *testing.T) {
	t.Parallel()
	for n := range *times {
		t.Run(fmt.Sprint(n), failOver)
	}
}

func failOver(t *testing.T) {
	primary := pgtest.Start(t, pgtest.Replicating()...)
	first := primary.Database(t)
	standby := primary.Standby(t)
	both := strings.Replace(first, "host=", "host="+hostOf(standby)+",", 1) + "&target_session_attrs=read-write"
	c := newClusterAt(t, primary, both)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	nodes := []*node{c.start("a", Setup{}), c.start("b", Setup{Name: "b"})}
	c.awaitShares(nodes...)
	c.setCrew(nodes...)
	load := c.load()
	load.Begin(ctx)
	c.awaitProgress(load, 20)
	time.Sleep(c.moment(lease / 2))
	primary.Crash(t)
	time.Sleep(c.moment(lease)) // as a failover manager takes its time
	standby.Promote(t)
	c.awaitProgress(load, 20)
	c.awaitShares(nodes...)
	end := load.End()
	c.awaitHealth(nodes...)
	c.verdict(end)
}

// hostOf is the directory of a server's socket.
func hostOf(c *pgtest.Cluster) string {
	return strings.TrimSuffix(c.Socket(), "/.s.PGSQL.5432")
}
