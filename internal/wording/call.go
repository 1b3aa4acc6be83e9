package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// Typed returns an error message with its type, unless the type says nothing.
func Typed(name, message string) string {
	if name == "" || name == retry.TypeError || message == "" {
		return message
	}
	return name + ": " + Untyped(name, message)
}

// Untyped returns an error message for display beside its type. It drops the type if the
// message repeats it, as in "timeout: the attempt ran longer than 2s".
func Untyped(name, message string) string {
	if n := len(name); n > 0 && len(message) > n+2 && strings.EqualFold(message[:n], name) && message[n:n+2] == ": " {
		return message[n+2:]
	}
	return message
}

// Error returns the latest error of a call, or the one from which it recovered.
func Error(c *view.CallAttempts) string {
	if c.RecoveredFrom != "" {
		return "recovered from " + Typed(c.RecoveredFromType, c.RecoveredFrom)
	}
	return Typed(c.ErrorType, c.Message)
}

// Person returns who did something and why, for the end of a text: " by ann: the bank
// called".
func Person(by, why string) (text string) {
	if by != "" {
		text += " by " + by
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// ByAndWhy returns who did something and why, without the leading blank: "by ann: the bank
// called".
func ByAndWhy(by, why string) string {
	return strings.TrimPrefix(strings.TrimPrefix(Person(by, why), " "), ": ")
}

// Why returns who made it wait and why, or else the last error.
func Why(w *view.Wait) string {
	failed, why := Typed(w.ErrorType, w.Error), ByAndWhy(w.By, w.Why)
	switch {
	case why == "":
		return failed
	case failed == "" || w.By != "":
		return why
	}
	return why + ": " + failed
}

// WhyWaiting is Why for calls that wait together. If an attempt of only some of them has failed, it
// says of how many, because the others may never have run: "3 failed: Busy: not now", or "3+" if
// not all were read. It is short, as the total stands beside it and narrow tables cut it.
func WhyWaiting(w *view.Waiting) string {
	if w.Failed == 0 || w.Failed >= w.Count {
		return Why(&w.Wait)
	}
	some := human.Count(w.Failed)
	if w.AtLeast {
		some += "+"
	}
	some += " failed: " + Typed(w.ErrorType, w.Error)
	switch why := ByAndWhy(w.By, w.Why); {
	case why == "":
		return some
	case w.By != "":
		return why
	default:
		return why + "; " + some
	}
}

// Attempt returns which attempt a call is at, such as "3 of 5", or "" before the first.
func Attempt(c *view.Call) string {
	n := c.Attempt - c.Questions
	if c.State == view.CallPaused || c.State == view.CallQuarantined || c.State == view.CallInDoubt {
		n-- // there may be no further attempt
	}
	switch {
	case n <= 0:
		return ""
	case c.Max == 0 || c.Max >= retry.Unlimited:
		return human.Count(n)
	}
	return human.Count(n) + " of " + human.Count(c.Max)
}

// AtGate says why a call waits at a gate.
func AtGate(w *view.GateWait) string {
	text := "waiting at gate " + w.Name
	switch {
	case w.Verdict:
		text += " for its retry budget"
	case w.Place > 0:
		text += fmt.Sprintf(" (place %d of %d)", w.Place, w.Waiting)
	}
	if w.OpenUntil != nil {
		text += ", breaker" + OfKey(w.Key) + " open until " + human.Time(*w.OpenUntil)
	}
	if p := w.Paused; p != nil {
		text += ", paused since " + human.Time(p.Since) + Person(p.By, p.Why)
	}
	return text
}

// Unbegun says what a run waits for whose code may not begin.
func Unbegun(w *view.Wait) string {
	if w.Gate != "" {
		return "as many runs of its key run as may (gate " + w.Gate + ")"
	}
	return "it waits for a slot of a node"
}

// AtQueue says where the attempts of a queued call are.
func AtQueue(c *view.Call, now time.Time) string {
	queue := "queue " + c.Queue
	switch {
	case c.State == view.CallRunning:
		return "an attempt of " + queue + " runs on " + c.Node
	case c.State != view.CallOffered:
		return "its attempts run where " + queue + " is served"
	}
	text := "it waits in " + queue
	if c.Offered != nil {
		text = "it has waited in " + queue + " for " + human.Duration(max(0, now.Sub(*c.Offered)))
	}
	if c.Unserved != "" {
		text += ": " + c.Unserved
	}
	return text
}

// InDoubt says which attempt may have had its effect, and how far finding out has come.
func InDoubt(d *view.Doubt) string {
	text := Doubted(d)
	if d.Started != nil {
		text += ", begun " + human.Time(*d.Started)
	}
	if d.Ended != nil {
		text += ", ended " + human.Time(*d.Ended)
	}
	if d.Error != "" {
		text += " (" + human.Clip(d.Error, 200) + ")"
	}
	if asked := Asked(d); asked != "" {
		text += "; " + asked
	}
	return text
}

// Doubted says which attempt may have had its effect, and how it ended.
func Doubted(d *view.Doubt) string {
	text := fmt.Sprintf("attempt %d may have had its effect: it %s", d.Attempt, endedInDoubt[d.Outcome])
	if d.Node != "" {
		text += " on " + d.Node
	}
	return text
}

// Asked says how far finding out has come, and what the latest question was told; "" before the
// first question.
func Asked(d *view.Doubt) (text string) {
	switch {
	case d.Asking:
		text = fmt.Sprintf("that is being asked (question %d)", d.Question)
	case d.Question > 0:
		text = human.Plural(d.Question, "question", "questions") + " had no answer"
	}
	if d.Answer != "" {
		text += ", the latest: " + human.Clip(d.Answer, 200)
	}
	return text
}

// endedInDoubt says how attempts end that may have had their effect.
var endedInDoubt = map[string]string{
	view.OutcomeFailed: "failed", view.OutcomeTimedOut: "timed out", view.OutcomeLost: "was lost", view.OutcomeDrained: "was cut short by a shutdown",
}
