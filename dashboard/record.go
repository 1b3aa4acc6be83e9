package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// onRecord is what the recorded calls tell the author of a policy: the error types that
// occur, and policies to start from.
type onRecord struct {
	Presets []preset
	Hints   []string // error types that are probably misspelled
	Away    string   // why there is no such help; empty if there is

	types map[string]bool
}

// preset is a policy to start from, and why it may be useful.
type preset struct {
	Label, Says string
	Link        template.URL
}

const (
	recordTime    = time.Second // for reading what is only a help
	recordSpan    = 7 * day
	presetRuns    = 8 // runs whose calls are read for the policies in force
	presetSteps   = 4 // activities and steps with presets
	hopelessCalls = 2 // if none of this many calls recovered, retries do not help against the error
)

// builtIn are the error types of the engine, which are known before the first one occurs.
var builtIn = []string{
	retry.TypeError, retry.TypeTimeout, retry.TypeHeartbeatTimeout, retry.TypeQueueTimeout, retry.TypePanic,
	retry.TypeWorkerLost, retry.TypeCanceled, retry.TypeExhausted, retry.TypeRefused, retry.TypeDeadlineExceeded,
}

// onRecord reads it for the page to which the presets lead. Without it the page is as
// useful as with an empty ledger.
func (q *request) onRecord(page string) *onRecord {
	ctx, cancel := context.WithTimeout(q.ctx, recordTime)
	defer cancel()
	r := &onRecord{types: map[string]bool{}}
	for _, name := range builtIn {
		r.types[name] = true
	}
	stats, err := ops.ErrorStats(ctx, q.engine, view.AttemptFilter{Since: q.now.Add(-recordSpan), Limit: view.MaxErrors})
	if err == nil {
		err = r.read(ctx, q, page, stats)
	}
	switch {
	case err == nil:
	case q.tooMuch(err):
		r.Away = "There is too much on record to suggest policies from it."
	default:
		r.Away = "What is on record cannot be read at the moment: " + human.Sentence(err.Error())
	}
	return r
}

func (r *onRecord) read(ctx context.Context, q *request, page string, stats []view.ErrorStats) error {
	slices.SortStableFunc(stats, func(a, b view.ErrorStats) int { return cmp.Compare(b.Attempts, a.Attempts) })
	var steps []string
	for i := range stats {
		r.types[stats[i].ErrorType] = true
		if !slices.Contains(steps, stats[i].Name) {
			steps = append(steps, stats[i].Name)
		}
	}
	inForce, err := q.inForce(ctx)
	if err != nil {
		return err
	}
	for _, step := range steps[:min(len(steps), presetSteps)] {
		r.presets(page, step, inForce[step], stats)
	}
	return nil
}

// inForce returns the policies of calls that are retrying, by activity name.
func (q *request) inForce(ctx context.Context) (map[string]string, error) {
	runs, err := q.engine.List(ctx, view.Filter{Call: view.CallBackoff, Limit: presetRuns})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for i := range runs {
		d, err := q.engine.Workflow(runs[i].WorkflowID).OfRun(runs[i].RunID).Describe(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range d.Pending {
			if c.Policy != "" && found[c.Name] == "" {
				found[c.Name] = c.Policy
			}
		}
	}
	return found, nil
}

// presets adds the presets for one activity or step: the policy in force, and the changes
// that its recorded errors suggest.
func (r *onRecord) presets(page, step, inForce string, stats []view.ErrorStats) {
	base, of := retry.Standard, "the standard policy"
	add := func(label, says string, p retry.Policy) {
		if p.Validate() == nil {
			r.Presets = append(r.Presets, preset{step + ": " + label, says, link(page, "policy", p.String(), "activity", step)})
		}
	}
	if p, err := retry.Parse(inForce); inForce != "" && err == nil {
		base, of = p, "the policy in force"
		add("as now", "the policy of its calls that retry at the moment", p)
	}
	recovered, lost := 0, 0
	for i := range stats {
		s := &stats[i]
		if s.Name != step {
			continue
		}
		recovered, lost = recovered+s.Recovered, lost+s.Calls-s.Recovered
		if s.Recovered > 0 || s.Calls < hopelessCalls || s.ErrorType == retry.TypeError {
			continue
		}
		p := base
		p.NonRetryable = append(slices.Clone(p.NonRetryable), s.ErrorType)
		add("give up on "+human.Clip(s.ErrorType, 40), fmt.Sprintf("%s, without retries of an error from which none of %s recovered", of, human.Plural(s.Calls, "call", "calls")), p)
	}
	if limit := base.AttemptLimit(); recovered > 0 && lost > 0 && limit < retry.Unlimited {
		p := base
		p.MaxAttempts = 2 * limit
		add("twice as many attempts", fmt.Sprintf("%s; %s recovered by a retry, %d have not", of, human.Plural(recovered, "call has", "calls have"), lost), p)
	}
}

// check adds hints about error types in a policy that no recorded error has, but that
// almost match one that occurs.
func (r *onRecord) check(p retry.Policy) {
	named := slices.Concat(p.Retryable, p.NonRetryable)
	for i := range p.Rules {
		named = append(named, p.Rules[i].Types...)
	}
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		if hint := near.Hint(name, maps.Keys(r.types)); hint != "" && !r.types[name] {
			r.Hints = append(r.Hints, fmt.Sprintf("No error on record has the type %s. %s", name, hint))
		}
	}
}
