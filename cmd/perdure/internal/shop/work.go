package shop

import (
	"fmt"
	"strings"
)

// judge does the work of the request with this number for the first time.
func judge(kind Kind, number int64, o Order) outcome {
	result := &Result{ID: fmt.Sprintf("%s-%06d", kind, number), Kind: kind, Order: o.ID}
	if kind == Charge {
		if reason, declined := declineReason(o.Card); declined {
			return outcome{declined: reason}
		}
		result.AmountCents, result.Currency = o.AmountCents, o.Currency
	}
	return outcome{result: result}
}

// declineReason says why a card is declined for good. As with the test cards of
// real payment services, the last digits decide.
func declineReason(card string) (string, bool) {
	digits := strings.NewReplacer(" ", "", "-", "").Replace(card)
	switch digits[max(0, len(digits)-4):] {
	case "0002":
		return "The bank declined the card.", true
	case "9995":
		return "The card has insufficient funds.", true
	case "0069":
		return "The card has expired.", true
	}
	return "", false
}
