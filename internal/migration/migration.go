package migration

import (
	"fmt"
	"io/fs"
)

// Script is one step of a schema.
type Script struct {
	Name string // of its file, for errors
	SQL  string
}

// Read returns the scripts migrations/0001_*.sql, migrations/0002_*.sql, ... in
// order. A database of version n has run the first n. Released scripts never change.
// The files are embedded, so a fault in their numbering is a fault of the program:
// Read panics.
func Read(files fs.FS) []Script {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		panic(err)
	}
	var scripts []Script
	for i, name := range names { // Glob sorts
		var number int
		if _, err := fmt.Sscanf(name, "migrations/%04d_", &number); err != nil || number != i+1 {
			panic(fmt.Sprintf("%s is not migration number %d", name, i+1))
		}
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		scripts = append(scripts, Script{name, string(sql)})
	}
	return scripts
}
