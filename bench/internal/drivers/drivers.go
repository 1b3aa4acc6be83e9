package drivers

import (
	"context"

	"github.com/perdure/perdure/bench/internal/floor"
	"github.com/perdure/perdure/bench/internal/system"
)

// Reference is the driver with which the others are compared: the one of
// perdure's store.
const Reference = "modernc"

// Systems returns the floor with each driver. The one that needs a C compiler is
// there if the program was built with one.
func Systems() []system.System {
	return append([]system.System{
		floor.With(Reference, floor.Modernc),
		floor.With("zombiezen", zombiezen),
		floor.With("ncruces", ncruces),
	}, withC()...)
}

// native is a connection through a driver's own interface.
type native interface {
	exec(statement string) error
	insert(r floor.Row) error
	each(query string, row func(c columns)) error
	Close() error
}

// columns are those of a row of a result.
type columns interface {
	ColumnText(i int) string
	ColumnInt(i int) int
}

// table is the floor's table on such a connection.
type table struct{ native }

// create makes the table.
func create(conn native) (floor.Table, error) {
	for _, s := range floor.Setup {
		if err := conn.exec(s); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return table{conn}, nil
}

func (t table) Insert(_ context.Context, rows []floor.Row) error {
	if err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, r := range rows {
		if err := t.insert(r); err != nil {
			_ = t.exec("ROLLBACK") // the first error is the one to tell
			return err
		}
	}
	return t.exec("COMMIT")
}

func (t table) Done(context.Context) (map[string]int, error) {
	done := map[string]int{}
	err := t.each(floor.SelectDone, func(c columns) { done[c.ColumnText(0)] = c.ColumnInt(1) })
	return done, err
}

func (t table) Count(context.Context) (rows, runs int, err error) {
	err = t.each(floor.SelectCount, func(c columns) { rows, runs = c.ColumnInt(0), c.ColumnInt(1) })
	return rows, runs, err
}
