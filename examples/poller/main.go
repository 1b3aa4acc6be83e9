package main

import (
	"context"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

func main() {
	serve := flag.String("serve", "", "be the feed, at this `address`, and nothing else")
	db := flag.String("db", "poller.db", "the `file` with the table, and with what the engine remembers")
	url := flag.String("feed", "http://localhost:8019", "where the feed is")
	every := flag.Duration("every", 5*time.Second, "how long to wait between two polls")
	flag.Parse()
	if *serve != "" {
		log.Fatal(http.ListenAndServe(*serve, &feed{length: 1000}))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *db, *url, *every); err != nil {
		log.Fatal(err)
	}
}

// run polls until it is interrupted. The poller is started once; it continues with
// every process.
func run(ctx context.Context, db, url string, every time.Duration) error {
	eng, err := perdure.Open(ctx, sqlite.File(db), perdure.Register(Poller.Impl(poll), Fetch.Impl(fetch(url))))
	if err != nil {
		return err
	}
	defer eng.Close()
	if err := createTable(ctx, db); err != nil {
		return err
	}
	if err := eng.Start(ctx); err != nil {
		return err
	}
	if _, err := perdure.Start(ctx, eng, Poller, "news", Cursor{Every: every}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
