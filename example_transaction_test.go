//go:build !race || databases

package perdure_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// Ship is started for each order.
var Ship = workflow.New("ship", func(wf *workflow.Context, item string) (string, error) {
	return item + " is on its way", nil
})

// The order and the run that ships it come into being together, or neither does. With
// store/postgres any transaction of the program's own will do, without Transact.
func ExampleStartTx() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	eng, err := perdure.Open(ctx, sqlite.File(filepath.Join(dir, "shop.db")), perdure.Register(Ship))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}

	// The table of orders is in the same file.
	order := func(id, item string, paid bool) error {
		return perdure.Transact(ctx, eng, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, item TEXT)"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, ?)", id, item); err != nil {
				return err
			}
			if _, err := perdure.StartTx(ctx, eng, tx, Ship, "order-"+id, item); err != nil {
				return err
			}
			if !paid {
				return errors.New("there is no money")
			}
			return nil
		})
	}
	fmt.Println(order("1", "a book", false))
	_, err = eng.Workflow("order-1").Describe(ctx)
	fmt.Println(errors.Is(err, perdure.ErrNotFound))

	fmt.Println(order("1", "a book", true))
	fmt.Println(perdure.Attach[string](eng, "order-1").Result(ctx))
	// Output:
	// perdure: transact: there is no money
	// true
	// <nil>
	// a book is on its way <nil>
}

// Reserve writes a row with the result of the step, on SQLite and PostgreSQL alike.
var Reserve = activity.New("reserve", func(ctx context.Context, item string) (string, error) {
	return item + " is reserved", activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO reserved (item) VALUES ($1)", item)
		return err
	})
})

// The result of a step and a row of the program's own become durable together. The same code
// runs with store/postgres.
func ExampleTransact() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	order := workflow.New("order", func(wf *workflow.Context, item string) (string, error) {
		return workflow.Call(wf, Reserve, item)
	})
	eng, err := perdure.Open(ctx, sqlite.File(filepath.Join(dir, "shop.db")), perdure.Register(order, Reserve))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	err = perdure.Transact(ctx, eng, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE reserved (item TEXT)")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}

	h, err := perdure.Start(ctx, eng, order, "order-1", "a book")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Result(ctx))
	err = perdure.Transact(ctx, eng, func(ctx context.Context, tx *sql.Tx) error {
		var item string
		err := tx.QueryRowContext(ctx, "SELECT item FROM reserved WHERE item = $1", "a book").Scan(&item)
		fmt.Println(item, err)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// a book is reserved <nil>
	// a book <nil>
}
