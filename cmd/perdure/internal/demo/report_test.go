package demo

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/view"
)

// settled is an order that went as it should, with its tally in the book.
func settled(id string) (verdict, shop.Tally) {
	return verdict{order: shop.Order{ID: id, AmountCents: 500}, status: "completed", outcome: Outcome{Status: Settled}},
		shop.Tally{Done: map[shop.Step]int{shop.Reserve: 1, shop.Charge: 1, shop.Ship: 1, shop.Notify: 1}, ChargedCents: 500}
}

func declined(id string) (verdict, shop.Tally) {
	return verdict{order: shop.Order{ID: id, AmountCents: 500}, status: "completed", outcome: Outcome{Status: Declined, Declined: "no money"}},
		shop.Tally{Done: map[shop.Step]int{shop.Reserve: 1}, Declined: "no money"}
}

func TestEveryDifferenceBetweenEngineAndBookIsFound(t *testing.T) {
	tests := []struct {
		name   string
		change func(v *verdict, book *shop.Tally)
		of     func(string) (verdict, shop.Tally)
		want   []string // one for each difference
	}{
		{"settled", func(*verdict, *shop.Tally) {}, settled, nil},
		{"declined", func(*verdict, *shop.Tally) {}, declined, nil},
		{"charged twice", func(_ *verdict, b *shop.Tally) { b.Done[shop.Charge], b.ChargedCents = 2, 1000 }, settled,
			[]string{"charge was done 2 times instead of 1", "1000 cents were charged instead of 500"}},
		{"never charged", func(_ *verdict, b *shop.Tally) { b.Done[shop.Charge], b.ChargedCents = 0, 0 }, settled,
			[]string{"charge was done 0 times instead of 1", "0 cents were charged instead of 500"}},
		{"wrong amount", func(_ *verdict, b *shop.Tally) { b.ChargedCents = 499 }, settled, []string{"499 cents"}},
		{"shipped twice", func(_ *verdict, b *shop.Tally) { b.Done[shop.Ship] = 2 }, settled, []string{"ship was done 2 times"}},
		{"not notified", func(_ *verdict, b *shop.Tally) { b.Done[shop.Notify] = 0 }, settled, []string{"notify was done 0 times"}},
		{"reserved twice", func(_ *verdict, b *shop.Tally) { b.Done[shop.Reserve] = 2 }, settled, []string{"reserve was done 2 times"}},
		{"declined and charged", func(_ *verdict, b *shop.Tally) { b.Done[shop.Charge], b.ChargedCents = 1, 500 }, declined,
			[]string{"charge was done 1 time instead of 0", "500 cents were charged instead of 0"}},
		{"declined and shipped", func(_ *verdict, b *shop.Tally) { b.Done[shop.Ship] = 1 }, declined, []string{"ship was done 1 time instead of 0"}},
		{"declined for another reason", func(_ *verdict, b *shop.Tally) { b.Declined = "expired" }, declined, []string{`"expired" by the book`}},
		{"failed", func(v *verdict, b *shop.Tally) {
			*v = verdict{order: v.order, status: "failed", failure: "no attempts left"}
		}, settled,
			[]string{"neither settled nor declined; its workflow is failed. no attempts left"}},
		{"failed and charged twice", func(v *verdict, b *shop.Tally) {
			*v = verdict{order: v.order, status: "failed"}
			b.Done[shop.Charge] = 2
		}, settled, []string{"neither settled nor declined", "charge was done 2 times instead of 1"}},
	}
	for _, test := range tests {
		good, goodTally := settled("good")
		v, tally := test.of("A")
		test.change(&v, &tally)
		book := shop.Totals{Orders: map[string]shop.Tally{"good": goodTally, "A": tally}}
		got := compare([]verdict{good, v}, book)
		if len(got) != len(test.want) {
			t.Errorf("%s: %q; want %d differences", test.name, got, len(test.want))
			continue
		}
		all := strings.Join(got, "\n")
		for _, want := range test.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q does not say %q", test.name, got, want)
			}
		}
	}
}

func TestWorkWithoutAnOrderIsFound(t *testing.T) {
	v, tally := settled("A")
	got := compare([]verdict{v}, shop.Totals{Orders: map[string]shop.Tally{"A": tally, "B": tally}})
	if len(got) != 1 || !strings.HasPrefix(got[0], "B: ") {
		t.Errorf("%q", got)
	}
	if got := compare([]verdict{v}, shop.Totals{}); len(got) != 5 {
		t.Errorf("an order that the book does not know gives %q", got)
	}
}

func TestAttemptsAreCounted(t *testing.T) {
	r := &Report{Outcomes: map[string]int{}, Reasons: map[string]int{}, Errors: map[string]int{}}
	a, _ := settled("A")
	a.attempts = []view.Attempt{
		{Call: 1, Number: 1, Outcome: "completed", Reason: "succeeded"},
		{Call: 2, Number: 1, Outcome: "failed", Reason: "backoff", ErrorType: "Unavailable"},
		{Call: 2, Number: 2, Outcome: "lost", Reason: "worker_lost"},
		{Call: 2, Number: 3, Outcome: "completed", Reason: "succeeded"},
	}
	b, _ := declined("B")
	b.attempts = []view.Attempt{{Call: 1, Number: 1, Outcome: "failed", Reason: "terminal", ErrorType: "CardDeclined"}}
	r.count(a)
	r.count(b)
	if r.Settled != 1 || r.Declined != 1 || r.Steps != 3 || r.Attempts != 5 || r.Lost != 1 || r.Longest != "A" || r.Most != 3 ||
		r.Reasons["succeeded"] != 2 || r.Errors["CardDeclined"] != 1 || r.Outcomes["lost"] != 1 {
		t.Errorf("%+v", r)
	}
}
