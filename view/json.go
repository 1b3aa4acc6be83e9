package view

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/perdure/perdure/retry"
)

// Durations are written as Go prints them, "1h30m0s", which time.ParseDuration and the
// notation of policies read, and retry.Forever as "forever". Each type that has some is written and
// read as another one that points to its fields: one that is less deep takes the place of the
// number of the same name.

// span is a duration in JSON.
type span time.Duration

// IsZero is for fields that are not written if they are zero.
func (d *span) IsZero() bool { return *d == 0 }

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
	plainSchedule      Schedule
	plainActivityStats ActivityStats
	plainHourStats     HourStats
	plainWorkflowStats WorkflowStats
	plainTrialNumbers  TrialNumbers
	plainTrialLoad     TrialLoad
)

type attemptJSON struct {
	*plainAttempt
	Delay *span `json:"delay,omitzero"`
}

func (a *Attempt) json() *attemptJSON { return &attemptJSON{(*plainAttempt)(a), (*span)(&a.Delay)} }

// MarshalJSON writes durations as text.
func (a Attempt) MarshalJSON() ([]byte, error) { return json.Marshal(a.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Attempt) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, a.json()) }

func (a *FoundAttempt) json() any {
	return &struct {
		WorkflowID *string `json:"workflow_id"`
		RunID      *string `json:"run_id"`
		Workflow   *string `json:"workflow"`
		*attemptJSON
	}{&a.WorkflowID, &a.RunID, &a.Workflow, a.Attempt.json()}
}

// MarshalJSON writes durations as text.
func (a FoundAttempt) MarshalJSON() ([]byte, error) { return json.Marshal(a.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *FoundAttempt) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, a.json()) }

func (c *CallAttempts) json() any {
	return &struct {
		*plainCallAttempts
		Run      *span `json:"run,omitzero"`
		Backoff  *span `json:"backoff,omitzero"`
		Retrying *span `json:"retrying,omitzero"`
	}{(*plainCallAttempts)(c), (*span)(&c.Run), (*span)(&c.Backoff), (*span)(&c.Retrying)}
}

// MarshalJSON writes durations as text.
func (c CallAttempts) MarshalJSON() ([]byte, error) { return json.Marshal(c.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (c *CallAttempts) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, c.json()) }

func (g *Gate) json() any {
	return &struct {
		*plainGate
		OldestWait *span `json:"oldest_wait"`
	}{(*plainGate)(g), (*span)(&g.OldestWait)}
}

// MarshalJSON writes durations as text.
func (g Gate) MarshalJSON() ([]byte, error) { return json.Marshal(g.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (g *Gate) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, g.json()) }

func (s *Schedule) json() any {
	return &struct {
		*plainSchedule
		RunTimeout   *span `json:"run_timeout,omitzero"`
		ChainTimeout *span `json:"chain_timeout,omitzero"`
	}{(*plainSchedule)(s), (*span)(&s.RunTimeout), (*span)(&s.ChainTimeout)}
}

// MarshalJSON writes durations as text.
func (s Schedule) MarshalJSON() ([]byte, error) { return json.Marshal(s.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Schedule) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, s.json()) }

func (s *ActivityStats) json() any {
	return &struct {
		*plainActivityStats
		Retrying     *span `json:"retrying"`
		MeanRetrying *span `json:"mean_retrying"`
		Median       *span `json:"median"`
		P95          *span `json:"p95"`
	}{(*plainActivityStats)(s), (*span)(&s.Retrying), (*span)(&s.MeanRetrying), (*span)(&s.Median), (*span)(&s.P95)}
}

// MarshalJSON writes durations as text.
func (s ActivityStats) MarshalJSON() ([]byte, error) { return json.Marshal(s.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ActivityStats) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, s.json()) }

func (s *HourStats) json() any {
	return &struct {
		*plainHourStats
		Median *span `json:"median"`
		P95    *span `json:"p95"`
	}{(*plainHourStats)(s), (*span)(&s.Median), (*span)(&s.P95)}
}

// MarshalJSON writes durations as text.
func (s HourStats) MarshalJSON() ([]byte, error) { return json.Marshal(s.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *HourStats) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, s.json()) }

func (s *WorkflowStats) json() any {
	return &struct {
		*plainWorkflowStats
		Median *span `json:"median"`
		P95    *span `json:"p95"`
	}{(*plainWorkflowStats)(s), (*span)(&s.Median), (*span)(&s.P95)}
}

// MarshalJSON writes durations as text.
func (s WorkflowStats) MarshalJSON() ([]byte, error) { return json.Marshal(s.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *WorkflowStats) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, s.json()) }

func (n *TrialNumbers) json() any {
	return &struct {
		*plainTrialNumbers
		P50 *span `json:"p50"`
		P99 *span `json:"p99"`
	}{(*plainTrialNumbers)(n), (*span)(&n.P50), (*span)(&n.P99)}
}

// MarshalJSON writes durations as text.
func (n TrialNumbers) MarshalJSON() ([]byte, error) { return json.Marshal(n.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (n *TrialNumbers) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, n.json()) }

func (l *TrialLoad) json() any {
	return &struct {
		*plainTrialLoad
		Width *span `json:"width"`
	}{(*plainTrialLoad)(l), (*span)(&l.Width)}
}

// MarshalJSON writes durations as text.
func (l TrialLoad) MarshalJSON() ([]byte, error) { return json.Marshal(l.json()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *TrialLoad) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, l.json()) }
