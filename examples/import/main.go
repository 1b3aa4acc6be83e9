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
	serve := flag.String("serve", "", "be the geocoder, at this `address`, and nothing else")
	db := flag.String("db", "import.db", "the `file` with the table, and with what the engine remembers")
	geocoder := flag.String("geocoder", "http://localhost:8018", "where the geocoder is")
	flag.Parse()
	if *serve != "" {
		log.Fatal(http.ListenAndServe(*serve, &places{}))
	}
	if err := run(context.Background(), *db, *geocoder, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// run imports a file, under its name: again, it continues, or has nothing to do.
func run(ctx context.Context, db, geocoder, file string) error {
	customers, err := readFile(file)
	if err != nil {
		return err
	}
	eng, err := perdure.Open(ctx, sqlite.File(db), perdure.Register(Import, Insert.Impl(insert(geocoder))))
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
	report, err := perdure.Run(ctx, eng, Import, file, customers)
	if err != nil {
		return err
	}
	fmt.Printf("%d customers were imported, %d were not.\n", report.Imported, len(report.Refused))
	for _, why := range report.Refused {
		fmt.Println(" ", why)
	}
	return nil
}
