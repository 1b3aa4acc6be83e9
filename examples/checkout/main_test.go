package main

import (
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/examples/internal/kill"
)

func TestMain(m *testing.M) { kill.Main(m, main) }

// The process dies after a reservation, in the middle, and while it undoes. Every
// order is bought once or not at all.
func TestOrdersSurviveKills(t *testing.T) {
	shop := &services{}
	service := &kill.Service{Handler: shop, At: []int{1, 5, 10}}
	server := httptest.NewServer(service)
	defer server.Close()

	said := service.Lives(t, "-db", filepath.Join(t.TempDir(), "checkout.db"), "-shop", server.URL)
	for _, want := range []string{"order-1: charge-", "order-2: nothing was bought: ", "we do not ship to Atlantis", "order-3: charge-"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q but\n%s", want, said)
		}
	}

	done := map[string]int{}
	for _, line := range shop.book {
		what, _, _ := strings.Cut(line, " ")
		done[what]++
	}
	for what, want := range map[string]int{"reserve": 3, "charge": 3, "ship": 2, "release": 1, "refund": 1} {
		if done[what] != want {
			t.Errorf("%d times %s, want %d; the book: %q", done[what], what, want, shop.book)
		}
	}
	undo := slices.IndexFunc(shop.book, func(line string) bool { return strings.HasPrefix(line, "refund") })
	if undo < 0 || slices.IndexFunc(shop.book[undo:], func(line string) bool { return strings.HasPrefix(line, "release") }) < 0 {
		t.Errorf("the last step is undone first: %q", shop.book)
	}
}
