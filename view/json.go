package view

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure/retry"
)

// Durations are written as Go prints them, "1h30m0s", which time.ParseDuration and the
// notation of policies read, and retry.Forever as "forever". Each type that has some writes and reads itself: a field of
// the same name that is less deep takes the place of the one that has the number.

// span is a duration in JSON.
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(exactly(time.Duration(d))), nil }

func (d *span) UnmarshalText(text []byte) error {
	if string(text) == "forever" {
		*d = span(retry.Forever)
		return nil
	}
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write one such as \"1h30m\"", text)
	}
	*d = span(v)
	return nil
}

type (
	plainAttempt       Attempt
	plainCallAttempts  CallAttempts
	plainGate          Gate
	plainActivityStats ActivityStats
	plainTrialNumbers  TrialNumbers
	plainWorkflowStats WorkflowStats
	plainTrialLoad     TrialLoad
)

type attemptJSON struct {
	*plainAttempt
	Delay *span `json:"delay,omitempty"`
}

func (a *Attempt) json() attemptJSON {
	j := attemptJSON{plainAttempt: (*plainAttempt)(a)}
	if a.Delay != 0 {
		j.Delay = (*span)(&a.Delay)
	}
	return j
}

// MarshalJSON writes durations as text.
func (a Attempt) MarshalJSON() ([]byte, error) { return json.Marshal(a.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Attempt) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &attemptJSON{(*plainAttempt)(a), (*span)(&a.Delay)})
}

type foundAttemptJSON struct {
	WorkflowID *string `json:"workflow_id"`
	RunID      *string `json:"run_id"`
	Workflow   *string `json:"workflow"`
	attemptJSON
}

// MarshalJSON writes durations as text.
func (a FoundAttempt) MarshalJSON() ([]byte, error) {
	return json.Marshal(foundAttemptJSON{&a.WorkflowID, &a.RunID, &a.Workflow, a.json()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *FoundAttempt) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &foundAttemptJSON{
		&a.WorkflowID, &a.RunID, &a.Workflow, attemptJSON{(*plainAttempt)(&a.Attempt), (*span)(&a.Delay)},
	})
}

type callAttemptsJSON struct {
	*plainCallAttempts
	Run      *span `json:"run,omitzero"`
	Backoff  *span `json:"backoff,omitzero"`
	Retrying *span `json:"retrying,omitzero"`
}

// MarshalJSON writes durations as text.
func (c CallAttempts) MarshalJSON() ([]byte, error) {
	return json.Marshal(callAttemptsJSON{(*plainCallAttempts)(&c), unlessZero(&c.Run), unlessZero(&c.Backoff), unlessZero(&c.Retrying)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *CallAttempts) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &callAttemptsJSON{(*plainCallAttempts)(c), (*span)(&c.Run), (*span)(&c.Backoff), (*span)(&c.Retrying)})
}

func unlessZero(d *time.Duration) *span {
	if *d == 0 {
		return nil
	}
	return (*span)(d)
}

type gateJSON struct {
	*plainGate
	OldestWait *span `json:"oldest_wait"`
}

// MarshalJSON writes durations as text.
func (g Gate) MarshalJSON() ([]byte, error) {
	return json.Marshal(gateJSON{(*plainGate)(&g), (*span)(&g.OldestWait)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (g *Gate) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &gateJSON{(*plainGate)(g), (*span)(&g.OldestWait)})
}

type activityStatsJSON struct {
	*plainActivityStats
	Retrying     *span `json:"retrying"`
	MeanRetrying *span `json:"mean_retrying"`
}

// MarshalJSON writes durations as text.
func (s ActivityStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(activityStatsJSON{(*plainActivityStats)(&s), (*span)(&s.Retrying), (*span)(&s.MeanRetrying)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ActivityStats) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &activityStatsJSON{(*plainActivityStats)(s), (*span)(&s.Retrying), (*span)(&s.MeanRetrying)})
}

type workflowStatsJSON struct {
	*plainWorkflowStats
	Median *span `json:"median"`
	P95    *span `json:"p95"`
}

// MarshalJSON writes durations as text.
func (s WorkflowStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(workflowStatsJSON{(*plainWorkflowStats)(&s), (*span)(&s.Median), (*span)(&s.P95)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *WorkflowStats) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &workflowStatsJSON{(*plainWorkflowStats)(s), (*span)(&s.Median), (*span)(&s.P95)})
}

type trialNumbersJSON struct {
	*plainTrialNumbers
	P50 *span `json:"p50"`
	P99 *span `json:"p99"`
}

// MarshalJSON writes durations as text.
func (n TrialNumbers) MarshalJSON() ([]byte, error) {
	return json.Marshal(trialNumbersJSON{(*plainTrialNumbers)(&n), (*span)(&n.P50), (*span)(&n.P99)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *TrialNumbers) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &trialNumbersJSON{(*plainTrialNumbers)(n), (*span)(&n.P50), (*span)(&n.P99)})
}

type trialLoadJSON struct {
	*plainTrialLoad
	Width *span `json:"width"`
}

// MarshalJSON writes durations as text.
func (l TrialLoad) MarshalJSON() ([]byte, error) {
	return json.Marshal(trialLoadJSON{(*plainTrialLoad)(&l), (*span)(&l.Width)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (l *TrialLoad) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &trialLoadJSON{(*plainTrialLoad)(l), (*span)(&l.Width)})
}
