package postgres

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/pgtest"
)

// ids are run IDs and names, in order: those of entities, UUIDs, and what may be taken for one.
var ids = []string{
	"", "#", "#gate/0/stripe", "#gate/0/stripe.", "#gate/0/stripe.eu", "#schedule/2/nightly é", "#trials/3", "run-000001", "run-000002",
	"0192f000-0000-7000-8000-00000000002A", "0192f000-0000-7000-8000-0000000000", "0192f0000000700080000000000000",
	"0192f000-0000-7000-8000-00000000002a", "0192f000-0000-7000-8000-00000000002b", "ffffffff-ffff-ffff-ffff-ffffffffffff",
}

func stored(id string) []byte { return appendRun(nil, id) }

func read(b []byte) string {
	var id runID
	_ = id.ScanBytes(b) // has no error
	return string(id)
}

// FuzzRunID: an ID is read as it was written, no two are the same bytes, and the order of two
// of a kind is that of their texts.
func FuzzRunID(f *testing.F) {
	for i := range ids {
		f.Add(ids[i], ids[len(ids)-1-i])
		f.Add(ids[i], ids[max(i, 1)-1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isText(a) || !isText(b) {
			return // the contract has no such IDs
		}
		x, y := stored(a), stored(b)
		if got := read(x); got != a {
			t.Errorf("%q is stored as %x and read as %q", a, x, got)
		}
		if bytes.Equal(x, y) != (a == b) {
			t.Errorf("%q and %q are stored as %x and %x", a, b, x, y)
		}
		if ident.IsRun(a) == ident.IsRun(b) && bytes.Compare(x, y) != cmp.Compare(a, b) {
			t.Errorf("%q and %q are stored in another order, as %x and %x", a, b, x, y)
		}
	})
}

func TestRunIDsTakeSixteenBytes(t *testing.T) {
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(200e6, 0), time.Now()} {
		id := ident.NewRun(at.UnixNano())
		b := stored(id)
		if len(b) != 16 {
			t.Errorf("%s takes %d bytes", id, len(b))
		}
		if n := testing.AllocsPerRun(100, func() { read(b) }); n > 1 {
			t.Errorf("to read %s takes %v allocations", id, n)
		}
		if before := at.Unix() > 0; (bytes.Compare(stored("#trials/3"), b) < 0) != before {
			t.Errorf("a name is before %s: %t", id, !before)
		}
		if floor := stored(ident.RunFloor(at)); len(floor) != 16 || bytes.Compare(floor, b) > 0 {
			t.Errorf("the floor %x is above %x", floor, b)
		}
	}
}

// TestTheSchemaReadsRunIDs: its functions translate as the store does.
func TestTheSchemaReadsRunIDs(t *testing.T) {
	w := newWorld(t)
	for _, id := range ids {
		if got := w.value(`SELECT perdure.run_id($1)`, runID(id)); got != id {
			t.Errorf("%q is shown as %q", id, got)
		}
		if got := w.value(`SELECT encode(perdure.run_bytes($1), 'escape')`, id); got != w.value(`SELECT encode($1::bytea, 'escape')`, runID(id)) {
			t.Errorf("%q is sought as %q", id, got)
		}
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		if got := w.value(`SELECT string_agg(perdure.run_id(id), ' ' ORDER BY n) FROM unnest($1::bytea[]) WITH ORDINALITY u (id, n)`, mode, runIDs(ids)); got != strings.Join(ids, " ") {
			t.Errorf("in mode %s these were sent: %q", mode, got)
		}
	}
}

// TestStatementsGetRunIDsAsBytes: a text in place of one would be sent, too, and found nowhere.
func TestStatementsGetRunIDsAsBytes(t *testing.T) {
	config, err := pgxpool.ParseConfig(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	ear := statements(t, config.Copy())
	conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	seen := 0
	for _, sql := range ear.said {
		known, err := conn.Prepare(t.Context(), "", sql)
		if err != nil {
			t.Fatal(err)
		}
		for i, oid := range known.ParamOIDs {
			wanted := oid == pgtype.ByteaOID || oid == pgtype.ByteaArrayOID
			switch ear.with[sql][i].(type) {
			case runID, runIDs:
				seen++
				if !wanted {
					t.Errorf("parameter %d is a run ID as a text in\n%s", i+1, sql)
				}
			default:
				if wanted {
					t.Errorf("parameter %d is a %T as a run ID in\n%s", i+1, ear.with[sql][i], sql)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d run IDs were sent", seen)
	}
}
