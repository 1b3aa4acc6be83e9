package clustertest

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/pgtest"
)

// TestE83_PatroniFailsOver kills the primary of three servers under the work of two nodes,
// again and again. Patroni promotes the synchronous standby and takes the killed server back.
// No process of ours is restarted.
func TestE83_PatroniFailsOver(t *testing.T) {
	servers := pgtest.StartPatroni(t)
	c := newClusterAt(t, nil, servers.DSN("postgres"))
	nodes := c.two()
	load := c.loaded(time.Duration(*times)*2*time.Minute + patience)
	for range *times {
		c.awaitProgress(load, 20)
		time.Sleep(c.moment(lease))
		t.Logf("for %s no run ended", c.gap(load, func() {
			servers.KillPrimary(t)
			c.awaitProgress(load, 20)
		}))
	}
	c.conclude(load, nodes)
}
