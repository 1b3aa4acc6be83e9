package activity_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// The shop's own tables are in the database of the engine. What a step takes from
// the stock and the fact that the step is done are durable together.
func ExampleOnCommit() {
	reserve := activity.New("reserve", func(ctx context.Context, item string) (string, error) {
		receipt := "one " + item // here a body asks other services, and takes its time
		return receipt, activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE stock SET left = left - 1 WHERE item = ?`, item)
			return err
		})
	})
	buy := workflow.New("buy", func(wf *workflow.Context, item string) (string, error) {
		return workflow.Call(wf, reserve, item)
	})

	err := withShop(func(ctx context.Context, path string, shop *sql.DB) error {
		eng, err := perdure.Open(ctx, sqlite.File(path), perdure.Register(buy, reserve))
		if err != nil {
			return err
		}
		defer eng.Close()
		if _, err := shop.Exec(`CREATE TABLE stock (item TEXT, left INTEGER); INSERT INTO stock VALUES ('book', 7)`); err != nil {
			return err
		}
		if err := eng.Start(ctx); err != nil {
			return err
		}
		fmt.Println(perdure.Run(ctx, eng, buy, "order-17", "book"))
		var left int
		err = shop.QueryRow(`SELECT left FROM stock WHERE item = 'book'`).Scan(&left)
		fmt.Println(left, "left")
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// one book <nil>
	// 6 left
}

// withShop makes a place for a database and opens it for the shop itself.
func withShop(f func(ctx context.Context, path string, shop *sql.DB) error) error {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	shop, err := sql.Open("sqlite", path) // the driver that store/sqlite brings along
	if err != nil {
		return err
	}
	defer shop.Close()
	return f(context.Background(), path, shop)
}
