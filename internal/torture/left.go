package torture

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// Remains are statements for a schema of perdure in a PostgreSQL database, by what they look
// for: what no process will ever touch again when all runs are over. Each returns texts.
func Remains(schema string) map[string]string {
	all := map[string]string{
		"partitions have no live owner":     `SELECT p.id::text FROM {}.partitions p WHERE NOT EXISTS (SELECT FROM {}.nodes n WHERE n.id = p.node AND n.departed IS NULL AND n.expires > {}.now())`,
		"messages are in the inbox":         `SELECT inbox::text FROM {}.inbox`, // what came twice is thrown away after the run has ended
		"runs are open":                     `SELECT runs::text FROM {}.runs WHERE status IN ('running', 'waiting-for-code', 'parked')`,
		"attempts are in queues":            `SELECT tasks::text FROM {}.tasks`,
		"calls have a row":                  `SELECT calls::text FROM {}.calls`,
		"turns belong to no run":            `SELECT t.run FROM {}.turns t WHERE NOT EXISTS (SELECT FROM {}.runs r WHERE r.partition = t.partition AND r.id = t.run)`,
		"turns were written by older owner": `SELECT run FROM (SELECT run, epoch, lag(epoch) OVER (PARTITION BY partition, run, epoch >> 32 ORDER BY number) AS before FROM {}.turns) t WHERE before > epoch`,
		"turns have an epoch without owner": `WITH o AS MATERIALIZED (SELECT partition, epoch FROM {}.owners),
			first AS MATERIALIZED (SELECT partition, epoch >> 32 AS ward, min(epoch) AS epoch FROM o GROUP BY 1, 2 HAVING count(*) >= 1000) -- those before are forgotten
			SELECT t.run FROM {}.turns t WHERE NOT EXISTS (SELECT FROM o WHERE o.partition = t.partition AND o.epoch = t.epoch)
			AND NOT EXISTS (SELECT FROM first f WHERE f.partition = t.partition AND f.ward = t.epoch >> 32 AND t.epoch < f.epoch)`,
	}
	for what, statement := range all {
		all[what] = strings.ReplaceAll(statement, "{}", schema)
	}
	return all
}

// settle is how long after the last run what is left may take to be gone.
const settle = 20 * time.Second

// left looks for what nothing will touch again, until there is nothing, or for as long as that
// may take.
func left(ctx context.Context, e *perdure.Engine, schema string) []witness.Finding {
	for end := time.Now().Add(settle); ; {
		found := leftNow(ctx, e, schema)
		if len(found) == 0 || time.Now().After(end) || ctx.Err() != nil {
			return found
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func leftNow(ctx context.Context, e *perdure.Engine, schema string) (found []witness.Finding) {
	add := func(what string, left any) {
		found = append(found, witness.Finding{Kind: witness.Orphaned, What: fmt.Sprintf("%s: %v", what, left)})
	}
	var counts view.Counts
	err := witness.Patiently(ctx, func() (err error) {
		counts, err = ops.Counts(ctx, e, 0)
		return err
	})
	if err != nil {
		add("the runs cannot be counted", err)
	}
	for status, n := range counts.Runs {
		if status != view.StatusCompleted && status != view.StatusCanceled && n > 0 {
			add("runs are "+status, n)
		}
	}
	for state, n := range counts.Calls {
		add("calls are "+state, n)
	}
	if schema == "" {
		return found
	}
	statements := Remains(schema)
	for _, what := range slices.Sorted(maps.Keys(statements)) {
		rows, err := witness.Rows(ctx, e, statements[what], func(text *string) []any { return []any{text} })
		if err != nil {
			add("what is left cannot be read", err)
			break
		}
		if len(rows) > 0 {
			add(fmt.Sprint(len(rows), " ", what), strings.Join(rows[:min(len(rows), 5)], "\n"))
		}
	}
	return found
}
