package migration

import (
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
