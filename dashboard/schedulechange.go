package dashboard

import (
	"net/url"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
)

var scheduleChanges = []change{
	{
		kind: "schedule", name: "trigger", label: "Trigger now", means: "The schedule fires now, even if it is paused.",
		ask: func(q *request, f *changeForm) error {
			s, err := q.scheduleNamed(f.Name)
			if err != nil {
				return err
			}
			o, asked, err := f.overlap("as the schedule says: " + string(overlapOf(s.Spec)))
			f.Asks = "Show what it means"
			if !asked || err != nil {
				return err
			}
			f.Sure = true
			f.Says = []string{"It starts workflow " + s.Workflow + "."}
			if n := len(s.Open); n > 0 {
				if o == "" {
					o = overlapOf(s.Spec)
				}
				f.Says = append(f.Says, human.Plural(n, "run is open", "runs are open")+": "+overlapMeans[o]+".")
			}
			return nil
		},
		do: func(q *request, name string, form url.Values, who []ops.ControlOption) (url.Values, error) {
			o, err := overlapNamed(form.Get("overlap"))
			if err != nil {
				return nil, err
			}
			id, err := ops.TriggerSchedule(q.ctx, q.engine, name, o, who...)
			return url.Values{"fired": {id}}, err
		},
	},
	{
		kind: "schedule", name: "backfill", label: "Backfill",
		means: "The schedule fires its times of the past between two moments, both included, even if it is paused. A time that was fired before is not fired again.",
		ask:   askBackfill,
		do: func(q *request, name string, form url.Values, who []ops.ControlOption) (url.Values, error) {
			o, err := overlapNamed(form.Get("overlap"))
			if err != nil {
				return nil, err
			}
			from, until, err := q.backfillSpan(form)
			if err != nil {
				return nil, err
			}
			_, err = ops.BackfillSchedule(q.ctx, q.engine, name, from, until, o, who...)
			return nil, err
		},
	},
	{
		kind: "schedule", name: "pause", label: "Pause", means: "The schedule fires nothing by itself until it is resumed. Fires that wait are skipped; open runs go on.",
		ask: askSchedule,
		do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			return nil, ops.PauseSchedule(q.ctx, q.engine, name, who...)
		},
	},
	{
		kind: "schedule", name: "resume", label: "Resume", means: "The schedule fires again, from its next time on. Times in the pause are not fired: that is what a backfill does.",
		ask: askSchedule,
		do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			return nil, ops.ResumeSchedule(q.ctx, q.engine, name, who...)
		},
	},
	{
		kind: "schedule", name: "delete", label: "Delete", danger: true, means: "The schedule fires nothing any more. Runs that it started go on; fires that wait are dropped.",
		ask: askSchedule,
		do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			return nil, ops.DeleteSchedule(q.ctx, q.engine, name, who...)
		},
	},
}

var overlaps = []schedule.Overlap{
	schedule.Skip, schedule.BufferOne, schedule.BufferAll, schedule.CancelOther, schedule.TerminateOther, schedule.AllowAll,
}

func overlapOf(s schedule.Spec) schedule.Overlap {
	if s.Overlap == "" {
		return schedule.Skip
	}
	return s.Overlap
}

func overlapNamed(text string) (schedule.Overlap, error) {
	o := schedule.Overlap(text)
	if _, ok := overlapMeans[o]; text != "" && !ok {
		return "", wrongFieldf("There is no overlap policy %q. Choose one in the form.", clipBytes(text, 100))
	}
	return o, nil
}

// overlap asks for the overlap policy, and reports whether the form was sent.
func (f *changeForm) overlap(standard string) (o schedule.Overlap, asked bool, err error) {
	o, err = overlapNamed(f.values.Get("overlap"))
	in := changeInput{Name: "overlap", Label: "While a run is open", Choices: []changeChoice{{"", standard, o == ""}}}
	for _, one := range overlaps {
		in.Choices = append(in.Choices, changeChoice{string(one), string(one) + ": " + overlapMeans[one], o == one})
	}
	f.Fields = append(f.Fields, in)
	if asked = f.values.Has("asked"); asked {
		f.hide("asked", "yes")
		f.hide("overlap", string(o))
	}
	return o, asked, err
}

// askSchedule needs no input.
func askSchedule(q *request, f *changeForm) error {
	s, err := q.scheduleNamed(f.Name)
	if err != nil {
		return err
	}
	f.Sure = true
	f.Says = []string{human.Plural(len(s.Open), "run is open", "runs are open") + ", " + human.Plural(len(s.Waiting), "fire waits", "fires wait") + "."}
	if len(s.Next) > 0 {
		f.Says = append(f.Says, "The next time is "+human.Time(s.Next[0].Due)+".")
	}
	return nil
}

// maxBackfill is how many times the preview of a backfill counts. More are refused.
const maxBackfill = 1000

func askBackfill(q *request, f *changeForm) error {
	s, err := q.scheduleNamed(f.Name)
	if err != nil {
		return err
	}
	for _, in := range []changeInput{{Name: "from", Label: "From"}, {Name: "until", Label: "Until"}} {
		in.Hint, in.Value = "how long ago (90m, 7d), or a time such as 2026-11-22T08:00:00Z", strings.TrimSpace(f.values.Get(in.Name))
		f.Fields = append(f.Fields, in)
	}
	f.Asks = "Show the times"
	_, asked, err := f.overlap("buffer_all: " + overlapMeans[schedule.BufferAll])
	if !asked || err != nil {
		return err
	}
	from, until, err := q.backfillSpan(f.values)
	if err != nil {
		return err
	}
	times, err := s.Spec.Times()
	if err != nil {
		return wrongFieldf("The schedule cannot fire: %v.", err)
	}
	var all []time.Time
	for _, t := range times.Upcoming(from.Add(-1), maxBackfill+1) {
		if t.After(until) {
			break
		}
		all = append(all, t)
	}
	switch n := len(all); {
	case n == 0:
		f.Says = []string{"The schedule has no time in that span."}
		return nil
	case n > maxBackfill:
		return wrongFieldf("The schedule has more than %s times in that span. Choose a shorter one, and backfill the rest then.", human.Count(maxBackfill))
	default:
		f.Says = []string{human.Plural(n, "time", "times") + ", the first " + human.Time(all[0]) + ", the last " + human.Time(all[n-1]) + ". Those that were fired before are left out."}
	}
	f.Sure = true
	// Post what was shown: times, not how long ago they were.
	f.hide("from", from.UTC().Format(time.RFC3339Nano))
	f.hide("until", until.UTC().Format(time.RFC3339Nano))
	return nil
}

// backfillSpan parses the bounds of a backfill.
func (q *request) backfillSpan(v url.Values) (from, until time.Time, err error) {
	for _, b := range []struct {
		name string
		into *time.Time
	}{{"from", &from}, {"until", &until}} {
		text := strings.TrimSpace(v.Get(b.name))
		t, ok := human.Moment(text, q.now)
		if !ok {
			return from, until, wrongFieldf("%q is not a time. Give how long ago it is (90m, 24h, 7d), or a time such as %s.", clipBytes(text, 100), q.now.UTC().Format(time.RFC3339))
		}
		*b.into = t
	}
	if until.Before(from) {
		return from, until, wrongFieldf("The span is empty: it ends before it begins. Exchange the times.")
	}
	return from, until, nil
}
