package shop

import (
	"fmt"
	"strings"
)

// Order is one order to fulfil.
type Order struct {
	ID          string `json:"id"`
	Item        string `json:"item"`
	Quantity    int    `json:"quantity"`
	AmountCents int64  `json:"amount_cents"` // of the whole order
	Card        string `json:"card"`
}

var items = []struct {
	name  string
	cents int64
}{
	{"hand grinder", 11900}, {"decaf beans 500 g", 2060}, {"scale with timer", 6431},
	{"milk pitcher 350 ml", 3890}, {"pour-over kettle", 6794}, {"descaler 500 ml", 1406},
}

// Orders returns n orders, the same each time. One in forty has a card that is
// declined.
func Orders(n int) []Order {
	orders := make([]Order, n)
	for i := range orders {
		item, quantity := items[i%len(items)], 1+i%3
		orders[i] = Order{
			ID: fmt.Sprintf("order-%03d", i+1), Item: item.name, Quantity: quantity,
			AmountCents: item.cents * int64(quantity), Card: "4242 4242 4242 4242",
		}
		if i%40 == 6 {
			orders[i].Card = "4000 0000 0000 9995"
		}
	}
	return orders
}

// declineReason says why a card is declined for good; it is empty if it is not. As
// with the test cards of real payment services, the last digits decide.
func declineReason(card string) string {
	if strings.HasSuffix(card, "9995") {
		return "The card has insufficient funds."
	}
	return ""
}
