package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

func main() {
	serve := flag.String("serve", "", "be the shop's services, at this `address`, and nothing else")
	db := flag.String("db", "checkout.db", "the `file` in which everything is remembered")
	url := flag.String("shop", "http://localhost:8017", "where the shop's services are")
	flag.Parse()
	if *serve != "" {
		log.Fatal(http.ListenAndServe(*serve, &services{}))
	}
	if err := run(context.Background(), *db, newShop(*url)); err != nil {
		log.Fatal(err)
	}
}

// run takes three orders through the checkout. Run again after a crash it continues
// where it was; after that it has nothing to do but to tell.
func run(ctx context.Context, db string, shop *shop) error {
	eng, err := perdure.Open(ctx, sqlite.File(db), perdure.Register(Checkout), perdure.Register(shop.activities()...))
	if err != nil {
		return err
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		return err
	}
	orders := []Order{
		{"order-1", "a lamp", 4900, "Oslo"},
		{"order-2", "a trident", 12900, "Atlantis"},
		{"order-3", "a chair", 8900, "Lima"},
	}
	var runs []perdure.Handle[Receipt]
	for _, o := range orders {
		run, err := perdure.Start(ctx, eng, Checkout, o.ID, o)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		receipt, err := run.Result(ctx)
		if err != nil {
			fmt.Printf("%s: nothing was bought: %v\n", run.ID(), err)
			continue
		}
		fmt.Printf("%s: %s, %s\n", run.ID(), receipt.Payment, receipt.Parcel)
	}
	return nil
}
