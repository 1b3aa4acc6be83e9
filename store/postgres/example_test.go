package postgres_test

import (
	"context"
	"fmt"
	"os"

	"github.com/perdure/perdure/store/postgres"
)

// A program on several machines opens the database by its URL; a pooler in
// transaction mode is fine.
func Example() {
	options := []postgres.Option{postgres.Schema("shop")}
	if os.Getenv("PGBOUNCER") != "" {
		options = append(options, postgres.Pooled())
	}
	db := postgres.URL("postgres://shop@db1,db2/shop?password=secret&connect_timeout=1", options...)

	// perdure.Open(ctx, db, ...) does this:
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // there is no such server
	_, err := db.Open(ctx)
	fmt.Println(err)
	// Output: context canceled
}
