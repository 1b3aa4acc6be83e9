package migration

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestReadReturnsTheScriptsInOrder(t *testing.T) {
	scripts := Read(fstest.MapFS{
		"migrations/0002_more.sql":  {Data: []byte("second")},
		"migrations/0001_first.sql": {Data: []byte("first")},
	})
	if len(scripts) != 2 || scripts[0].SQL != "first" || scripts[1].Name != "migrations/0002_more.sql" {
		t.Errorf("read %v; want the first script before the second", scripts)
	}
}

func TestReadRefusesAGap(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("scripts 1 and 3 were accepted without a second one")
		}
	}()
	Read(fstest.MapFS{"migrations/0001_a.sql": {}, "migrations/0003_c.sql": {}})
}

func TestStatements(t *testing.T) {
	for script, want := range map[string][]string{
		"":                                {},
		" -- nothing;\n":                  {},
		"SELECT 1":                        {"SELECT 1"},
		"SELECT 1; ;\n-- two;\nSELECT 2;": {"SELECT 1;", "-- two;\nSELECT 2;"},
		"SELECT 'a;''b;'; SELECT \"c;\"":  {"SELECT 'a;''b;';", "SELECT \"c;\""},
		"/* a; */ SELECT 1; SELECT 2":     {"/* a; */ SELECT 1;", "SELECT 2"},
		"DO $$ BEGIN a; b; END $$; c":     {"DO $$ BEGIN a; b; END $$;", "c"},
		"DO $x$ a; $$ b; $x$; SELECT $1;": {"DO $x$ a; $$ b; $x$;", "SELECT $1;"},
		"SELECT 'open; ":                  {"SELECT 'open;"},
	} {
		if got := Statements(script); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", script, got, want)
		}
	}
}
