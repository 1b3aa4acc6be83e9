package wording

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// TrialRow is one number of a trial: on record, with the policy, and its bounds, which may
// be empty.
type TrialRow struct{ Name, Recorded, Trial, Worst, Best string }

// TrialRows returns the numbers of a trial that are worth showing.
func TrialRows(t *view.PolicyTrial) (rows []TrialRow) {
	r, n := &t.Recorded, &t.Trial
	add := func(name string, recorded, trial int, worst, best string) {
		if recorded != 0 || trial != 0 || worst != "" {
			rows = append(rows, TrialRow{name, human.Count(recorded), human.Count(trial), worst, best})
		}
	}
	add(view.EndedSucceeded, r.Succeeded, n.Succeeded, human.Count(t.Worst.Succeeded), human.Count(t.Best.Succeeded))
	add(view.EndedFailed, r.Failed, n.Failed, "", "")
	add(view.EndedPaused, r.Paused, n.Paused, "", "")
	add(view.EndedCanceled, r.Canceled, n.Canceled, "", "")
	add(view.EndedUnfinished, r.Unfinished, n.Unfinished, "", "")
	add(view.EndedUnknown, r.Unknown, n.Unknown, "", "")
	add("attempts", r.Attempts, n.Attempts, atLeast(&t.Worst), atLeast(&t.Best))
	if r.P50 > 0 || n.P50 > 0 {
		rows = append(rows, TrialRow{Name: "half succeeded within", Recorded: took(r.P50, r.Succeeded), Trial: took(n.P50, n.Succeeded)},
			TrialRow{Name: "99% succeeded within", Recorded: took(r.P99, r.Succeeded), Trial: took(n.P99, n.Succeeded)})
	}
	return rows
}

// atLeast formats the number of attempts of a bound.
func atLeast(b *view.TrialBound) string {
	if b.More {
		return human.Count(b.Attempts) + "+"
	}
	return human.Count(b.Attempts)
}

func took(d time.Duration, calls int) string {
	if calls == 0 {
		return "-"
	}
	return human.Duration(d)
}

// TrialSaved says how many attempts the policy of a trial saves or adds.
func TrialSaved(t *view.PolicyTrial) string {
	change := func(n int) string {
		switch saved := t.Recorded.Attempts - n; {
		case saved > 0:
			return "saves " + human.Plural(saved, "attempt", "attempts")
		case saved < 0:
			return "adds " + human.Plural(-saved, "attempt", "attempts")
		}
		return "takes as many attempts"
	}
	least, most := change(t.Best.Attempts), change(t.Worst.Attempts)
	if t.Worst.More {
		most += " or more"
	}
	if least == most {
		return "The policy " + least + "."
	}
	return "At best the policy " + least + ", at worst it " + most + "."
}

// TrialEstimate says how many of the calls with an unknown end would have succeeded. It
// returns "" if there is no estimate.
func TrialEstimate(t *view.PolicyTrial) string {
	if t.Estimate == nil {
		return ""
	}
	return fmt.Sprintf("Estimate: %.1f of the %s would have succeeded.", *t.Estimate, human.Plural(t.Trial.Unknown, "unknown call", "unknown calls"))
}

// TrialUntried says on which calls the policy was not tried; since is what the time was asked for by.
func TrialUntried(t *view.PolicyTrial, since string) (says []string) {
	if t.LeftOut > 0 {
		says = append(says, human.Plural(t.LeftOut, "call is", "calls are")+" left out: the first attempt is not on record any more, or before "+since+".")
	}
	if t.FirstTry > 0 {
		says = append(says, human.Plural(int(t.FirstTry), "more call", "more calls")+" succeeded at the first attempt, which no policy changes.")
	}
	return says
}

// TrialTone is the tone of calls by whether they would succeed where they did not.
func TrialTone(c *view.TrialClass) Tone {
	switch {
	case c.Recorded == c.Trial:
	case c.Trial == view.EndedSucceeded:
		return "good"
	case c.Recorded == view.EndedSucceeded:
		return "bad"
	}
	return "calm"
}

// FromTo is a number on record and with the policy, with an arrow between them if they differ.
func FromTo(recorded, trial int, arrow string) string {
	if recorded == trial {
		return human.Count(recorded)
	}
	return human.Count(recorded) + " " + arrow + " " + human.Count(trial)
}

// TrialStarts are how many attempts start in each span of a load that is not empty: on record, with
// the policy and, where that differs, at worst.
func TrialStarts(l *view.TrialLoad) [][]int {
	at := func(p view.TrialPoint) int { return int(p.Time.Sub(l.Points[0].Time) / l.Width) }
	n := at(l.Points[len(l.Points)-1]) + 1
	all := [][]int{make([]int, n), make([]int, n), make([]int, n)}
	for _, p := range l.Points {
		all[0][at(p)], all[1][at(p)], all[2][at(p)] = p.Recorded, p.Trial, p.Worst
	}
	if slices.Equal(all[1], all[2]) {
		return all[:2]
	}
	return all
}
