package main

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/workflow"
)

// Request is what a person wants approved, and how long they wait.
type Request struct {
	From, To, What   string
	Remind, Deadline time.Duration
}

// Decision is what the person says.
type Decision struct {
	Approved bool
	By, Why  string
}

// Letter is a letter.
type Letter struct{ To, Subject, Text string }

// How others talk with an approval, and how it talks with people.
var (
	Decide = workflow.NewSignal[Decision]("decide")
	State  = workflow.NewQuery[struct{}, string]("state")
	Mail   = activity.Declare[Letter, string]("mail")
)

// Approval waits for a decision, for days if need be: that costs a row in a file.
var Approval = workflow.New("approval", func(wf *workflow.Context, r Request) (Decision, error) {
	reminders, outcome := 0, ""
	workflow.HandleQuery(wf, State, func(struct{}) (string, error) {
		if outcome != "" {
			return outcome, nil
		}
		return fmt.Sprintf("waiting for %s, reminded %d times", r.To, reminders), nil
	})
	if err := mail(wf, r.To, "Please decide", r.What); err != nil {
		return Decision{}, err
	}
	decided := workflow.ReceiveAsync(wf, Decide)
	deadline := workflow.NewTimer(wf, r.Deadline)
	for {
		switch workflow.WaitAny(wf, decided, deadline, workflow.NewTimer(wf, r.Remind)) {
		case 0:
			d, err := decided.Get(wf)
			if err != nil {
				return d, err // the run was canceled
			}
			outcome = fmt.Sprintf("approved: %t", d.Approved)
			return d, mail(wf, r.From, "Decided", r.What+": "+outcome)
		case 1:
			outcome = "no one decided in time"
			return Decision{Why: outcome}, mail(wf, r.From, "Not decided", r.What)
		case 2:
			reminders++
			if err := mail(wf, r.To, fmt.Sprintf("Reminder %d", reminders), r.What); err != nil {
				return Decision{}, err
			}
		}
	}
})

func mail(wf *workflow.Context, to, subject, text string) error {
	_, err := workflow.Call(wf, Mail, Letter{to, subject, text})
	return err
}
