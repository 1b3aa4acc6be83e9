package clustertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
)

// TestE83_ASynchronousStandbyTakesOver crashes the primary under the work of two nodes
// and promotes its synchronous standby. The nodes know both by one URL. What was
// acknowledged is there, nothing runs twice without being on record, and the work continues
// without a restart of any process.
func TestE83_ASynchronousStandbyTakesOver(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 promotes a standby, too")
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
	nodes := c.two()
	load := c.loaded(2 * patience)
	c.awaitProgress(load, 20)
	time.Sleep(c.moment(lease / 2))
	primary.Crash(t)
	time.Sleep(c.moment(lease)) // as a failover manager takes its time
	standby.Promote(t)
	c.awaitProgress(load, 20)
	c.conclude(load, nodes)
}

// hostOf is the directory of a server's socket.
func hostOf(c *pgtest.Cluster) string {
	return strings.TrimSuffix(c.Socket(), "/.s.PGSQL.5432")
}
