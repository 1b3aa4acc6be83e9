package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// TestI11_EveryQueryModeWorksOrIsRefused: a mode of the driver in which the server does not
// say of which types the parameters are cannot carry the store's statements. In a URL a mode
// that can takes its place; a pool of the program's own is refused.
func TestI11_EveryQueryModeWorksOrIsRefused(t *testing.T) {
	for mode, works := range map[string]bool{
		"cache_statement": true, "cache_describe": true, "describe_exec": true, "exec": false, "simple_protocol": false,
	} {
		t.Run(mode, func(t *testing.T) {
			url := pgtest.Shared(t).DSN("postgres") + "&default_query_exec_mode=" + mode
			w := newWorldAt(t, url, Schema(freshSchema()))
			run := w.created()
			if found, err := w.List(t.Context(), store.Filter{}); err != nil || len(found) != 1 || found[0].ID != run.ID {
				t.Errorf("the list is %v, %v", found, err)
			}
			config, err := pgxpool.ParseConfig(url)
			w.must(err)
			Tune(config)
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			w.must(err)
			defer pool.Close()
			if opener := Pool(pool, Schema(freshSchema())); works {
				s, err := opener.Open(t.Context())
				w.must(err)
				s.Close()
			} else if err := refuses(t, opener, "DefaultQueryExecMode", "QueryExecModeCacheDescribe"); store.Unavailable(err) {
				t.Error("waiting would not help")
			}
		})
	}
}

// TestI9_ARefusedStatementCostsItsTurn: the server, or the driver, refuses a statement that
// only one of three turns needs. The others are durable, and the one is told what was refused.
func TestI9_ARefusedStatementCostsItsTurn(t *testing.T) {
	w := newWorld(t)
	runs := []store.Run{w.created(), w.created(), w.created()}
	turns := func(number int64) []store.Turn {
		var all []store.Turn
		for _, r := range runs {
			all = append(all, w.turn(r, number))
		}
		all[1].Offered = []store.Task{{TaskRef: store.TaskRef{Partition: runs[1].Partition, Run: runs[1].ID, Number: 1, Attempt: 1},
			WorkflowID: runs[1].WorkflowID, Queue: "q", Name: "a", Data: []byte(`1`)}}
		return all
	}
	w.exec(`ALTER TABLE perdure.tasks RENAME TO elsewhere`)
	for range 2 { // it can be asked again
		result, err := w.Commit(t.Context(), turns(2))
		w.must(err)
		for i, err := range result.Errors {
			switch {
			case i != 1:
				w.must(err)
			case !store.Refused(err) || !store.Undone(err) || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), `tasks" does not exist`):
				t.Errorf("the turn got %v", err)
			}
		}
	}
	w.exec(`ALTER TABLE perdure.elsewhere RENAME TO tasks`)
	w.commits(turns(2)...)
}

// TestI11_WhatTheDriverCannotEncodeIsNoOutage: nothing was sent, and the connection works.
func TestI11_WhatTheDriverCannotEncodeIsNoOutage(t *testing.T) {
	w := newWorld(t)
	err := w.hold(t.Context(), "test", func(c *conn) error {
		return c.transact(t.Context(), func(pgx.Tx) error {
			_, err := c.exec(t.Context(), `SELECT $1::integer`, int64(1)<<40)
			return err
		})
	})
	if !store.Refused(err) || !store.Undone(err) {
		t.Errorf("got %v", err)
	}
	w.created()
}
