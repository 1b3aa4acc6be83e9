package main

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Claim is an expense that an employee submits.
type Claim struct {
	Who   string `json:"who"`
	What  string `json:"what"`
	Cents int    `json:"cents"`
}

// Decision is what the person in charge says.
type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
}

// Settlement is how a claim ended.
type Settlement struct {
	Paid    bool   `json:"paid"`
	Payment string `json:"payment,omitempty"`
	Why     string `json:"why,omitempty"`
}

// How others talk with a claim.
var (
	Decide   = workflow.NewSignal[Decision]("decide")
	Progress = workflow.NewQuery[struct{}, string]("progress")
)

// Pay sends money. Asked again with the same key, the bank does not pay again.
var Pay = activity.New("pay", pay, activity.Retry(retry.Policy{
	MaxAttempts:    8,
	AttemptTimeout: 10 * time.Second,
	NonRetryable:   []string{"UnknownAccount"},
}))

func pay(ctx context.Context, _ Claim) (string, error) {
	return "payment-" + activity.IdempotencyKey(ctx), nil // a bank's client goes here
}

// patience is how long a claim waits for its decision.
const patience = 30 * 24 * time.Hour

// Expense waits for a decision, which costs a row in the database, and pays.
var Expense = workflow.New("expense", func(wf *workflow.Context, c Claim) (Settlement, error) {
	progress := "waiting for a decision"
	workflow.HandleQuery(wf, Progress, func(struct{}) (string, error) { return progress, nil })

	decision := workflow.ReceiveAsync(wf, Decide)
	if workflow.WaitAny(wf, decision, workflow.NewTimer(wf, patience)) == 1 {
		return Settlement{Why: "no decision within 30 days"}, nil
	}
	d, err := decision.Get(wf)
	if err != nil {
		return Settlement{}, err // the claim was canceled
	}
	if !d.Approved {
		return Settlement{Why: "declined by " + d.By}, nil
	}
	progress = "approved by " + d.By + ", being paid"
	payment, err := workflow.Call(wf, Pay, c)
	return Settlement{Paid: err == nil, Payment: payment}, err
})
