package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Report is what a demo comes to. All numbers are counted at the end, from the
// engine's database and the service's book.
type Report struct {
	Orders   int `json:"orders"`
	Settled  int `json:"settled"`
	Declined int `json:"declined"`

	// Violations say what does not hold; there should be none.
	Violations []string `json:"violations"`

	Workers  int     `json:"workers"` // processes side by side
	Crashes  int     `json:"crashes"` // kills of workers that were survived
	Seconds  float64 `json:"seconds"` // at work, over all starts
	Database string  `json:"database"`

	name          database.Name
	hidesPassword bool   // Database does
	removal       string // command that removes what the demo keeps on a server

	Steps     int            `json:"steps"`     // activity calls
	Attempts  int            `json:"attempts"`  // of all steps
	Outcomes  map[string]int `json:"outcomes"`  // of the attempts
	Reasons   map[string]int `json:"reasons"`   // what followed each attempt, and why
	Errors    map[string]int `json:"errors"`    // failed attempts by error type
	Questions map[string]int `json:"questions"` // about attempts that may have been done, by answer
	Lost      int            `json:"lost"`      // attempts that died with their worker
	Longest   string         `json:"longest"`   // the order with the most attempts of one step
	Most      int            `json:"most"`      // how many that were

	Service ServiceReport `json:"service"`
}

// ServiceReport is what the service's own book says.
type ServiceReport struct {
	Requests    int `json:"requests"`
	Charges     int `json:"charges"`
	Duplicates  int `json:"duplicates"`   // requests for work that was done before
	LostAnswers int `json:"lost_answers"` // of work that was done
	InOutage    int `json:"in_outage"`
}

// True reports whether everything holds.
func (r *Report) True() bool { return len(r.Violations) == 0 }

// verdict is what the engine says about one order.
type verdict struct {
	order    shop.Order
	status   string // of the run
	outcome  Outcome
	failure  string
	attempts []view.Attempt
}

// Name is the database in which everything is.
func (r *Report) Name() database.Name { return r.name }

// review counts everything again, from what is on disk.
func (d *demo) review(ctx context.Context) (*Report, error) {
	totals := d.service.Book.Totals()
	r := &Report{
		Orders: len(d.orders), Violations: []string{},
		Workers: d.opt.Workers, Crashes: d.state.Kills,
		Seconds: d.state.Active.Round(100 * time.Millisecond).Seconds(), Database: d.db.String(),
		name: d.db, hidesPassword: d.db.HidesPassword(), removal: d.state.dropping(),
		Questions: map[string]int{}, Outcomes: map[string]int{}, Reasons: map[string]int{}, Errors: map[string]int{},
		Service: ServiceReport{
			Requests: totals.Requests, Charges: totals.Done[shop.Charge], Duplicates: totals.Duplicates,
			LostAnswers: totals.LostAnswers, InOutage: totals.InOutage,
		},
	}
	var verdicts []verdict
	for _, o := range d.orders {
		v, err := d.verdict(ctx, o)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
		r.count(v)
	}
	r.Violations = append(r.Violations, compare(verdicts, totals)...)
	d.state.Finished = true
	return r, d.dir.save(d.state)
}

// verdict asks the engine about an order.
func (d *demo) verdict(ctx context.Context, o shop.Order) (verdict, error) {
	v := verdict{order: o}
	run, err := d.engine.Workflow(o.ID).Describe(ctx)
	if errors.Is(err, perdure.ErrNotFound) {
		v.status = "lost: the database does not know it"
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.status = run.Status
	if run.Result != nil {
		if err := run.Result.Decode(&v.outcome); err != nil {
			return v, err
		}
	}
	if run.Failure != nil {
		v.failure = run.Failure.Message
	}
	v.attempts, err = d.engine.Workflow(o.ID).Attempts(ctx)
	return v, err
}

// count adds an order to the sums.
func (r *Report) count(v verdict) {
	switch v.outcome.Status {
	case Settled:
		r.Settled++
	case Declined:
		r.Declined++
	}
	steps := map[int64]int{}
	for _, a := range v.attempts {
		if a.Question > 0 {
			r.Questions[a.Outcome]++
			continue
		}
		steps[a.Call]++
		r.Attempts++
		r.Outcomes[a.Outcome]++
		r.Reasons[a.Reason]++
		if a.ErrorType != "" {
			r.Errors[a.ErrorType]++
		}
		switch retry.Reason(a.Reason) {
		case retry.ReasonWorkerLost, retry.ReasonLeaseExpired:
			r.Lost++
		}
		if a.Number > r.Most {
			r.Most, r.Longest = a.Number, v.order.ID
		}
	}
	r.Steps += len(steps)
}

// compare compares what the engine says with what the service's book says, order by
// order, and returns every difference.
func compare(verdicts []verdict, book shop.Totals) []string {
	var wrong []string
	known := map[string]bool{}
	for _, v := range verdicts {
		known[v.order.ID] = true
		for _, what := range v.differences(book.Orders[v.order.ID]) {
			wrong = append(wrong, v.order.ID+": "+what)
		}
	}
	for id := range book.Orders {
		if !known[id] {
			wrong = append(wrong, id+": the service worked for it, and the demo has no such order")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// differences are what is wrong with one order.
func (v *verdict) differences(book shop.Tally) []string {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	want := shop.Tally{Done: map[shop.Step]int{shop.Reserve: 1}}
	switch v.outcome.Status {
	case Settled:
		want.Done = map[shop.Step]int{shop.Reserve: 1, shop.Charge: 1, shop.Ship: 1, shop.Notify: 1}
		want.ChargedCents = v.order.AmountCents
	case Declined:
		want.Declined = v.outcome.Declined
	default:
		add("%s", strings.TrimSpace(fmt.Sprintf("it is neither settled nor declined; its workflow is %s. %s", v.status, v.failure)))
		want = shop.Tally{Done: map[shop.Step]int{}, ChargedCents: book.ChargedCents, Declined: book.Declined}
		for step, n := range book.Done { // at most once holds all the same
			want.Done[step] = min(n, 1)
		}
	}
	for _, step := range shop.Steps {
		if have, was := book.Done[step], want.Done[step]; have != was {
			add("by the book of the service %s was done %s instead of %d", step, human.Plural(have, "time", "times"), was)
		}
	}
	if book.ChargedCents != want.ChargedCents {
		add("by the book of the service %d cents were charged instead of %d", book.ChargedCents, want.ChargedCents)
	}
	if book.Declined != want.Declined {
		add("the card was declined as %q by the book, and as %q by the workflow", book.Declined, want.Declined)
	}
	return wrong
}
