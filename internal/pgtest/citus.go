package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// NoCitus begins what a test says that is skipped for want of Citus; the rest says why.
const NoCitus = "Citus is not here: "

// Citus starts a cluster of Citus for the test: a coordinator, which it returns first, and
// workers. The test is skipped if the extension is not beside the server's programs, or was
// built for a later server: Debian has no package of it. Whatever else is wrong fails it.
func Citus(tb testing.TB, workers int) []*Cluster {
	tb.Helper()
	bin := needsServer(tb)
	library := filepath.Join(filepath.Dir(bin), "lib", "citus.so")
	if _, err := os.Stat(library); errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("%sthere is no %s ($PERDURE_POSTGRES names the directory of the programs of a server that has it)", NoCitus, library)
	}
	var all []*Cluster
	for range workers + 1 {
		c, err := New(Set("shared_preload_libraries", "citus"), Set("wal_level", "logical"), Set("max_wal_senders", "4"),
			Set("citus.node_conninfo", "sslmode=disable"), Set("citus.shard_count", "8"), Set("citus.shard_replication_factor", "1"))
		if err != nil && strings.Contains(err.Error(), "undefined symbol") {
			tb.Skipf("%sthe server in %s is older than that for which %s was built", NoCitus, bin, library)
		}
		must(tb, err)
		all = append(all, c.endsWith(tb))
	}
	for _, c := range all {
		must(tb, c.exec(`CREATE EXTENSION citus`))
	}
	join := fmt.Sprintf(`SELECT citus_set_coordinator_host('%s', 5432)`, all[0].dir)
	for _, w := range all[1:] {
		join += fmt.Sprintf(`; SELECT citus_add_node('%s', 5432)`, w.dir)
	}
	must(tb, all[0].exec(join))
	return all
}
