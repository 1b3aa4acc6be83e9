package main

import (
	"context"
	"database/sql"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/sqlite"
)

func main() {
	serve := flag.String("serve", "", "be the billing service, at this `address`, and nothing else")
	db := flag.String("db", "billing.db", "the `file` with the tables, and with what the engine remembers")
	url := flag.String("service", "http://localhost:8021", "where the billing service is")
	every := flag.Duration("every", 0, "bill so often, and not monthly")
	flag.Parse()
	if *serve != "" {
		log.Fatal(http.ListenAndServe(*serve, &bank{}))
	}
	spec := monthly
	if *every != 0 {
		spec.Cron, spec.TimeZone, spec.Every = "", "", *every
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *db, *url, spec); err != nil {
		log.Fatal(err)
	}
}

// run bills until it is interrupted. The schedule is made once; what every process
// says again changes nothing.
func run(ctx context.Context, file, url string, spec schedule.Spec) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	eng, err := perdure.Open(ctx, sqlite.File(file), perdure.Register(Billing, Subscriptions.Impl(subscriptions(db)), Charge.Impl(charge(url))))
	if err != nil {
		return err
	}
	defer eng.Close()
	if err := createTables(ctx, db); err != nil {
		return err
	}
	if err := eng.Start(ctx); err != nil {
		return err
	}
	if err := perdure.Schedule(ctx, eng, "billing", Billing, struct{}{}, spec); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
