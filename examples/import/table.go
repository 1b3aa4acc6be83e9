package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/url"
	"os"

	_ "modernc.org/sqlite"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry/httpretry"
)

// createTable makes the table in the file in which the engine keeps its own.
func createTable(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS customers (name TEXT, city TEXT, place TEXT)")
	return errors.Join(err, db.Close())
}

// readFile reads customers from a CSV file: name, city.
func readFile(file string) ([]Customer, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	var customers []Customer
	for _, r := range records {
		customers = append(customers, Customer{r[0], r[1]})
	}
	return customers, nil
}

// insert is the body of Insert, with the geocoder at this URL. The row and the
// record that the call is done are one transaction: both are there, or neither.
func insert(geocoder string) activity.Func[Customer, string] {
	client := httpretry.New(nil)
	return func(ctx context.Context, c Customer) (string, error) {
		resp, err := client.Get(ctx, geocoder+"/?city="+url.QueryEscape(c.City))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var place string
		if err := json.NewDecoder(resp.Body).Decode(&place); err != nil {
			return "", err
		}
		return place, activity.OnCommit(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO customers VALUES (?, ?, ?)", c.Name, c.City, place)
			return err
		})
	}
}
