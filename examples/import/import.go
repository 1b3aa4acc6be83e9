package main

import (
	"errors"
	"strings"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/retry/httpretry"
	"github.com/perdure/perdure/workflow"
)

// Customer is a row of the file.
type Customer struct{ Name, City string }

// Report says what became of a file.
type Report struct {
	Imported int
	Refused  []string
}

// geocoder lets eight rows in at a time, in the order of the file. A row that waits
// for a retry lets others pass.
var geocoder = gate.New("geocoder", 8, gate.WithMode(gate.Release))

// Insert finds out where a customer lives and inserts a row.
var Insert = activity.Declare[Customer, string]("insert", activity.Through(geocoder), activity.Retry(retry.Policy{
	MaxAttempts: 10,
	Backoff:     retry.Exponential(100*time.Millisecond, 2, 5*time.Second),
}))

// Import imports customers.
var Import = workflow.New("import", func(wf *workflow.Context, customers []Customer) (Report, error) {
	refused, err := workflow.Map(wf, customers, func(wf *workflow.Context, c Customer) (string, error) {
		_, err := workflow.Call(wf, Insert, c)
		if status, is := errors.AsType[*httpretry.StatusError](err); is {
			return c.Name + ": " + strings.TrimSpace(status.Body), nil // for good: a bad row is no failure of the import
		}
		return "", err
	})
	if err != nil {
		return Report{}, err
	}
	report := Report{Imported: len(customers)}
	for _, why := range refused {
		if why != "" {
			report.Imported--
			report.Refused = append(report.Refused, why)
		}
	}
	return report, nil
})
