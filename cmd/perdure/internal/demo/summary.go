package demo

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/retry"
)

// Write tells a person what the demo came to. command is how this program is
// called.
func (r *Report) Write(out io.Writer, style term.Style, command string) error {
	var b strings.Builder
	r.result(&b, style)
	r.record(&b, style)
	r.shopBook(&b)
	r.next(&b, command)
	_, err := io.WriteString(out, b.String())
	return err
}

// maxViolationsShown bounds what a person is shown; the JSON report has all.
const maxViolationsShown = 20

func (r *Report) result(b *strings.Builder, style term.Style) {
	took := term.Duration(time.Duration(r.Seconds * float64(time.Second)))
	orders, kills := term.Plural(r.Orders, "order", "orders"), term.Plural(r.Crashes, "time", "times")
	if r.Workers > 1 {
		fmt.Fprintf(b, "\n%s done in %s by %d workers side by side, and %s one of them was killed.\n\n", orders, took, r.Workers, kills)
	} else {
		fmt.Fprintf(b, "\n%s done in %s, and the worker was killed %s meanwhile.\n\n", orders, took, kills)
	}
	fmt.Fprintf(b, "  %5s settled: reserved, charged, shipped and notified\n", term.Count(r.Settled))
	fmt.Fprintf(b, "  %5s declined: the card was refused for good, so nothing was charged or shipped\n", term.Count(r.Declined))
	if failed := r.Orders - r.Settled - r.Declined; failed > 0 {
		fmt.Fprintf(b, "  %5s %s\n", term.Count(failed), style.Paint("neither", term.Bad))
	}
	b.WriteByte('\n')
	if r.True() {
		fmt.Fprintf(b, "%s The service's own book has %s\nfor %s, each over the right amount, and nothing in it was done\ntwice or left out.\n",
			style.Paint("Every charge was made exactly once.", term.Good),
			term.Plural(r.Service.Charges, "charge", "charges"), term.Plural(r.Settled, "settled order", "settled orders"))
		return
	}
	fmt.Fprintf(b, "%s The engine and the service's own book do not agree, %s:\n\n",
		style.Paint("THIS DOES NOT HOLD.", term.Bad), term.Plural(len(r.Violations), "time", "times"))
	for i, v := range r.Violations {
		if i == maxViolationsShown {
			fmt.Fprintf(b, "  and %d more\n", len(r.Violations)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", term.Escape(v))
	}
	b.WriteString("\nThis should not happen, whatever the service does. Please keep the directory and\nreport it.\n")
}

// meaning is what a reason says to somebody who sees it for the first time.
var meaning = map[retry.Reason]string{
	retry.ReasonSucceeded:    "the step was done",
	retry.ReasonBackoff:      "failed; tried again after a wait that grows",
	retry.ReasonImmediate:    "failed; tried again without a wait",
	retry.ReasonServerDelay:  "failed; tried again when the service had said",
	retry.ReasonWorkerLost:   "died with the worker; made again by the next one",
	retry.ReasonLeaseLost:    "its worker stood still too long; made again by another",
	retry.ReasonDrained:      "cut off when the demo was stopped; made again",
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

var noAnswer = fmt.Sprintf("no answer within %s: it is unknown whether it was done", term.Duration(attemptTimeout))

func (r *Report) record(b *strings.Builder, style term.Style) {
	fmt.Fprintf(b, "\nperdure keeps a record of every attempt: %s took %s.\n\n",
		term.Plural(r.Steps, "step", "steps"), term.Plural(r.Attempts, "attempt", "attempts"))
	reasons := term.NewTable(style, "ATTEMPTS", "REASON", "WHAT BECAME OF THEM")
	reasons.Indent = "  "
	reasons.Right(0)
	for _, name := range byCount(r.Reasons) {
		reasons.Row(term.Count(r.Reasons[name]), name, meaning[retry.Reason(name)])
	}
	_ = reasons.Write(b) // into memory
	if len(r.Errors) == 0 {
		return
	}
	b.WriteByte('\n')
	failures := term.NewTable(style, "FAILURES", "TYPE", "WHAT IT WAS")
	failures.Indent = "  "
	failures.Right(0)
	for _, name := range byCount(r.Errors) {
		failures.Row(term.Count(r.Errors[name]), name, errorMeaning[name])
	}
	_ = failures.Write(b)
}

// byCount sorts names by their count, the largest first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

func (r *Report) shopBook(b *strings.Builder) {
	s := r.Service
	fmt.Fprintf(b, "\nThe service received %s. For %s of them it did the work but the\nanswer never arrived. %s came again for work that was done already; it\nrecognized the key that perdure gives every step, and did nothing twice.\n",
		term.Plural(s.Requests, "request", "requests"), term.Count(s.LostAnswers), term.Plural(s.Duplicates, "request", "requests"))
}

// next says what to look at.
func (r *Report) next(b *strings.Builder, command string) {
	db := " --db " + term.Quote(r.Database)
	b.WriteString("\nSee for yourself:\n\n")
	fmt.Fprintf(b, "  %s list%s\n", command, db)
	if r.Longest != "" {
		id := " " + term.Quote(r.Longest)
		fmt.Fprintf(b, "  %s show%s%s\n", command, id, db)
		fmt.Fprintf(b, "  %s attempts%s%s\n", command, id, db)
	}
	if r.Workers > 1 {
		fmt.Fprintf(b, "  %s nodes --all%s\n", command, db)
	}
	if r.hidesPassword {
		b.WriteString("\nThe password is left out; PGPASSWORD or ~/.pgpass can hold it.\n")
	}
	if r.Longest != "" && r.Most > 1 {
		fmt.Fprintf(b, "\n%s had the hardest time: %d attempts for one of its steps.\n", term.Escape(r.Longest), r.Most)
	}
	if r.removal != "" {
		fmt.Fprintf(b, "\nTo remove everything that the demo left in that database:\n\n  %s\n", r.removal)
	}
}
