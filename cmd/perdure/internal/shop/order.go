package shop

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Order is one order to fulfil. The names of the JSON members are also those of
// the CSV columns.
type Order struct {
	ID          string `json:"id"`
	Customer    string `json:"customer"`
	Item        string `json:"item"`
	Quantity    int    `json:"quantity"`
	AmountCents int64  `json:"amount_cents"` // of the whole order, in hundredths of the currency
	Currency    string `json:"currency"`     // three capital letters (ISO 4217)
	Card        string `json:"card"`
	Address     string `json:"address"`
	Country     string `json:"country"` // two capital letters (ISO 3166)
}

// Columns are the columns of an order file; all of them must be there, in any
// order.
var Columns = []string{"id", "customer", "item", "quantity", "amount_cents", "currency", "card", "address", "country"}

// SampleOrders is the order file that comes with the demo, as CSV.
//
//go:embed orders.csv
var SampleOrders string

// The limits of an order. They keep a slip of a key from becoming a purchase and
// are far above what a shop sees.
const (
	maxID          = 200
	maxText        = 1000
	maxQuantity    = 1_000_000
	maxAmountCents = 1_000_000_000_000
)

// Faults are the reasons why the order cannot be taken, as sentences; none if it
// can.
func (o Order) Faults() []string {
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }

	for _, text := range []struct {
		column, value string
		max           int
	}{
		{"id", o.ID, maxID}, {"customer", o.Customer, maxText}, {"item", o.Item, maxText},
		{"card", o.Card, maxText}, {"address", o.Address, maxText},
	} {
		switch {
		case strings.TrimSpace(text.value) == "":
			add("The %s is empty.", text.column)
		case !utf8.ValidString(text.value):
			add("The %s %s is not valid UTF-8.", text.column, quoted(text.value))
		case len(text.value) > text.max:
			add("The %s has %d bytes, and %d is the most.", text.column, len(text.value), text.max)
		case text.column != "address" && strings.ContainsFunc(text.value, unicode.IsControl):
			add("The %s %s contains a control character.", text.column, quoted(text.value))
		}
	}
	switch {
	case o.Quantity < 0:
		add("The quantity %d is negative.", o.Quantity)
	case o.Quantity == 0:
		add("The quantity is 0.")
	case o.Quantity > maxQuantity:
		add("The quantity %d is above %d, the most that can be ordered.", o.Quantity, maxQuantity)
	}
	switch {
	case o.AmountCents < 0:
		add("The amount_cents %d is negative.", o.AmountCents)
	case o.AmountCents == 0:
		add("The amount_cents is 0.")
	case o.AmountCents > maxAmountCents:
		add("The amount_cents %d is above %d, the most that can be charged.", o.AmountCents, int64(maxAmountCents))
	}
	if !isCode(o.Currency, 3) {
		add("The currency %s is not a code of three capital letters.", quoted(o.Currency))
	}
	if !isCode(o.Country, 2) {
		add("The country %s is not a code of two capital letters.", quoted(o.Country))
	}
	return faults
}

func isCode(s string, length int) bool {
	return len(s) == length && !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// quoted is a value as it may be shown: control characters and broken bytes are
// escaped, and a long one is cut.
func quoted(s string) string {
	const most = 40
	runes := 0
	for i := range s {
		if runes == most {
			return fmt.Sprintf("%q...", s[:i])
		}
		runes++
	}
	return fmt.Sprintf("%q", s)
}
