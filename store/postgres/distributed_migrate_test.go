package postgres

import "testing"

// TestE149_ADistributedDatabaseIsMigrated: on the Citus cluster that $PERDURE_TEST_URL names,
// a distributed database of an earlier version is brought up to date with the run that it
// holds, its tables stay distributed, and work continues there.
func TestE149_ADistributedDatabaseIsMigrated(t *testing.T) {
	url, options := anyServer(t)
	if len(options) == 0 {
		t.Skip("The server that PERDURE_TEST_URL names has no Citus.")
	}
	const schema, drop = "of_an_earlier_version", `DROP SCHEMA IF EXISTS of_an_earlier_version CASCADE`
	outside := newWorldAt(t, url, append(options, Schema("of_this_version"))...)
	outside.exec(drop)
	earlier := newWorldAt(t, url, append(options, Schema(schema))...)
	run := earlier.created()
	w := newWorldAt(t, url, Schema(schema), later())
	w.commits(w.turn(run, 2))
	w.runs = earlier.runs
	w.created()
	if runs := w.value(`SELECT count(*)::text FROM perdure.runs WHERE later = 'c'`); runs != "1" {
		t.Errorf("%s runs are new, want one", runs)
	}
	if turns := w.value(`SELECT count(*)::text FROM perdure.turns`); turns != "3" {
		t.Errorf("there are %s turns, want two of the earlier run and one of the new one", turns)
	}
	for _, table := range distributedTables {
		if n := w.value(`SELECT count(*)::text FROM pg_dist_partition WHERE logicalrelid = $1::text::regclass AND partmethod = 'h'`, schema+"."+table); n != "1" {
			t.Errorf("the table %s is not distributed", table)
		}
	}
	outside.exec(drop)
}
