package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// byCitus is the value in the table meta of a distributed database.
const byCitus = "citus"

// distributedTables are the tables whose rows belong to partitions. All others stay with
// the coordinator.
var distributedTables = []string{"runs", "turns", "calls", "attempts", "inbox", "tallies", "attributes"}

// distribution returns the script that distributes the tables that are not distributed yet.
// That includes tables from later migrations.
func distribution(id identity) string {
	var sql strings.Builder
	if !id.distributed {
		sql.WriteString(`LOCK TABLE perdure.nodes IN ACCESS EXCLUSIVE MODE;
SELECT perdure.refuse('` + engineRuns + `', 'node ' || name || ' runs') FROM perdure.nodes WHERE departed IS NULL AND expires > perdure.now();
-- One row for each partition, beside which its rows are inserted.
CREATE TABLE perdure.places (partition bigint PRIMARY KEY);
-- Has no rows. A statement that could write here makes a transaction commit in two phases.
CREATE TABLE perdure.steps (partition bigint);
INSERT INTO perdure.places SELECT DISTINCT id & 4294967295 FROM perdure.partitions;
SELECT create_distributed_table('perdure.places', 'partition', colocate_with => 'none');
SELECT truncate_local_data_after_distributing_table('perdure.places');
SELECT citus_add_local_table_to_metadata('perdure.steps');
`)
	}
	for _, table := range distributedTables {
		if id.distributed {
			sql.WriteString("DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'perdure." + table + "'::regclass) THEN\n" +
				"PERFORM create_distributed_table('perdure." + table + "', 'partition', colocate_with => 'perdure.places'); END IF; END $$;\n")
			continue
		}
		sql.WriteString("SELECT create_distributed_table('perdure." + table + "', 'partition', colocate_with => 'perdure.places');\n" +
			"SELECT truncate_local_data_after_distributing_table('perdure." + table + "');\n")
	}
	if !id.distributed {
		sql.WriteString(`SELECT create_distributed_function('perdure.now()');
SELECT create_distributed_function('perdure.refuse(text, text)');
SELECT create_distributed_function('perdure.run_id(bytea)');
SELECT create_distributed_function('perdure.run_bytes(text)');
INSERT INTO perdure.meta (key, value) VALUES ('distributed', '` + byCitus + `');`)
	}
	return sql.String()
}

const hasCitus = `SELECT count(*) > 0 FROM pg_extension WHERE extname = 'citus'`

var (
	errNoCitus          = errors.New("the database has no extension citus, over whose workers tables are distributed: let a superuser run CREATE EXTENSION citus on the coordinator and add its workers (citus_add_node), or leave --distribute (postgres.Distributed) out " + see.Citus)
	errEngineRuns       = errors.New("an engine runs on the database, which is not distributed under it")
	errDistributedSince = errors.New("the tables were distributed after this process had opened the database: restart it")
)

// checkCitus returns an error if a database is to be distributed and cannot be.
func (c *conn) checkCitus(ctx context.Context, id identity) error {
	if !c.h.distribute || id.distributed {
		return nil
	}
	var citus bool
	if _, err := c.one(ctx, hasCitus, nil, &citus); err != nil {
		return err
	}
	if !citus {
		return fmt.Errorf("%s: %w", c.h.info.Location, errNoCitus)
	}
	return nil
}

// forCitus configures what Tune does not know yet about a server: Citus plans a statement
// for the partitions in its parameters, and lock timeouts apply on workers too.
func forCitus(config *pgxpool.Config) {
	for name, value := range map[string]string{"plan_cache_mode": "auto", "citus.propagate_set_commands": "local"} {
		if _, given := config.ConnConfig.RuntimeParams[name]; !given {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
}

// reopen connects again with the settings for a distributed database.
func (o *opener) reopen(ctx context.Context, s *settings, h *handle) (store.Store, error) {
	if o.own {
		h.Close()
		s.distributed = true
		var err error
		if h, err = o.connected(ctx, s); err != nil {
			return nil, err
		}
		if err = h.prepare(ctx, s.partitions); err == nil {
			err = h.checkDistributed(ctx)
		}
		if err != nil {
			h.Close()
			return nil, h.explain(err)
		}
	}
	if err := h.learnDomains(ctx, h.info.Partitions); err != nil {
		h.Close()
		return nil, h.explain(err)
	}
	return h, nil
}
