package demo

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Write tells a person what the demo came to. command is how this program is
// called.
func (r *Report) Write(out io.Writer, style term.Style, command string) error {
	p := &printer{style: style}
	r.result(p)
	r.record(p)
	r.shopBook(p)
	r.next(p, command)
	_, err := out.Write(p.Bytes())
	return err
}

type printer struct {
	bytes.Buffer
	style term.Style
}

func (p *printer) printf(format string, args ...any) {
	p.WriteString(term.Sprintf(p.style, format, args...))
}

// maxViolationsShown bounds what a person is shown; the JSON report has all.
const maxViolationsShown = 20

func (r *Report) result(p *printer) {
	took := human.Duration(time.Duration(r.Seconds * float64(time.Second)))
	orders, kills := human.Plural(r.Orders, "order", "orders"), human.Plural(r.Crashes, "time", "times")
	if r.Workers > 1 {
		p.printf("\n%s done in %s by %d workers side by side, and %s one of them was killed.\n\n", orders, took, r.Workers, kills)
	} else {
		p.printf("\n%s done in %s, and the worker was killed %s meanwhile.\n\n", orders, took, kills)
	}
	p.printf("  %5s settled: reserved, charged, shipped and notified\n", human.Count(r.Settled))
	p.printf("  %5s declined: the card was refused for good, so nothing was charged or shipped\n", human.Count(r.Declined))
	if failed := r.Orders - r.Settled - r.Declined; failed > 0 {
		p.printf("  %5s %s\n", human.Count(failed), term.Painted{Text: "neither", Colour: term.Bad})
	}
	p.printf("\n")
	if r.True() {
		p.printf("%s The service's own book has %s\nfor %s, each over the right amount, and nothing in it was done\ntwice or left out.\n",
			term.Painted{Text: "Every charge was made exactly once.", Colour: term.Good},
			human.Plural(r.Service.Charges, "charge", "charges"), human.Plural(r.Settled, "settled order", "settled orders"))
		return
	}
	p.printf("%s The engine and the service's own book do not agree, %s:\n\n",
		term.Painted{Text: "THIS DOES NOT HOLD.", Colour: term.Bad}, human.Plural(len(r.Violations), "time", "times"))
	for i, v := range r.Violations {
		if i == maxViolationsShown {
			p.printf("  and %d more\n", len(r.Violations)-i)
			break
		}
		p.printf("  %s\n", v)
	}
	p.printf("\nThis should not happen, whatever the service does. Please keep the directory and\nreport it.\n")
}

// meaning explains a reason to people who see it for the first time.
var meaning = map[retry.Reason]string{
	retry.ReasonSucceeded:    "the step was done",
	retry.ReasonBackoff:      "failed; tried again after a wait that grows",
	retry.ReasonImmediate:    "failed; tried again without a wait",
	retry.ReasonServerDelay:  "failed; tried again when the service had said",
	retry.ReasonWorkerLost:   "died with the worker; made again by the next one",
	retry.ReasonLeaseExpired: "its worker was not heard of any more; made again by another",
	retry.ReasonLeaseLost:    "its worker stood still too long; made again by another",
	retry.ReasonDrained:      "cut off when the demo was stopped; made again",
	retry.ReasonVerify:       "may have been done; the service was asked first",
	retry.ReasonTerminal:     "failed for good: no retry could help",
	retry.ReasonMaxAttempts:  "failed, and there were no attempts left",
	retry.ReasonCrashLimit:   "died with the worker too often and was quarantined",
	retry.ReasonNonRetryable: "failed with an error that is not retried",
}

// errorMeaning does that for the error types.
var errorMeaning = map[string]string{
	"HTTP429":         "too many requests, come again later",
	"HTTP503":         "the service could not do it this time",
	"HTTP402":         "this card is declined for good",
	"HTTP400":         "the request was wrong",
	"HTTPNetwork":     "the connection broke: it is unknown whether it was done",
	"HTTPTimeout":     noAnswer,
	retry.TypeTimeout: noAnswer,
}

var noAnswer = fmt.Sprintf("no answer within %s: it is unknown whether it was done", human.Duration(attemptTimeout))

func (r *Report) record(p *printer) {
	p.printf("\nperdure keeps a record of every attempt: %s took %s.\n\n",
		human.Plural(r.Steps, "step", "steps"), human.Plural(r.Attempts, "attempt", "attempts"))
	reasons := term.NewTable(p.style, "\tATTEMPTS", "REASON", "WHAT BECAME OF THEM")
	reasons.Indent = "  "
	for _, name := range byCount(r.Reasons) {
		reasons.Row(human.Count(r.Reasons[name]), name, meaning[retry.Reason(name)])
	}
	reasons.Write(p)
	if len(r.Errors) == 0 {
		return
	}
	p.printf("\n")
	failures := term.NewTable(p.style, "\tFAILURES", "TYPE", "WHAT IT WAS")
	failures.Indent = "  "
	for _, name := range byCount(r.Errors) {
		failures.Row(human.Count(r.Errors[name]), name, errorMeaning[name])
	}
	failures.Write(p)
}

// byCount sorts names by their count, the largest first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

func (r *Report) shopBook(p *printer) {
	s := r.Service
	p.printf("\nThe service received %s. For %s of them it did the work but the\nanswer never arrived. %s came again for work that was done already; it\nrecognized the key that perdure gives every step, and did nothing twice.\n",
		human.Plural(s.Requests, "request", "requests"), human.Count(s.LostAnswers), human.Plural(s.Duplicates, "request", "requests"))
	if found, absent := r.Questions[view.OutcomeFound], r.Questions[view.OutcomeAbsent]; found+absent > 0 {
		p.printf("\nShipping takes no keys, so perdure asked before it repeated: of %s that may\nhave been sent %s had been and %s had not. Each order was shipped once.\n",
			human.Plural(found+absent, "parcel", "parcels"), human.Count(found), human.Count(absent))
	}
}

// next says what to look at.
func (r *Report) next(p *printer, command string) {
	db := " --db " + human.ShellWord(r.Database)
	p.printf("\nSee for yourself:\n\n")
	p.printf("  %s list%s\n", command, db)
	if r.Longest != "" {
		id := " " + human.ShellWord(r.Longest)
		p.printf("  %s show%s%s\n", command, id, db)
		p.printf("  %s attempts%s%s\n", command, id, db)
	}
	if r.Workers > 1 {
		p.printf("  %s nodes --all%s\n", command, db)
	}
	if r.hidesPassword {
		p.printf("\nThe password is left out; PGPASSWORD or ~/.pgpass can hold it.\n")
	}
	if r.Longest != "" && r.Most > 1 {
		p.printf("\n%s had the hardest time: %d attempts for one of its steps.\n", r.Longest, r.Most)
	}
	if r.removal != "" {
		p.printf("\nTo remove everything that the demo left in that database:\n\n  %s\n", r.removal)
	}
}
