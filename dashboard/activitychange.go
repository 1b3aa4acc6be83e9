package dashboard

import (
	"net/url"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

var activityChanges = []change{
	{
		kind: "activity", name: "pause", label: "Pause",
		means: "No attempt of the activity starts, on any node of the group and across restarts, until it is resumed. Attempts that run go on.",
		ask:   askActivity, do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			_, err := ops.PauseActivity(q.ctx, q.engine, name, who...)
			return nil, err
		},
	},
	{
		kind: "activity", name: "resume", label: "Resume", means: "Attempts of the activity start again, on all nodes of the group.",
		ask: askActivity, do: func(q *request, name string, _ url.Values, who []ops.ControlOption) (url.Values, error) {
			_, err := ops.ResumeActivity(q.ctx, q.engine, name, who...)
			return nil, err
		},
	},
}

// askActivity needs no input and shows how many calls wait for the activity.
func askActivity(q *request, f *changeForm) error {
	record, err := ops.PauseActivity(q.ctx, q.engine, f.Name, ops.DryRun())
	if err != nil {
		return err
	}
	s, err := ops.Status(q.ctx, q.engine)
	if err != nil {
		return err
	}
	f.Sure, f.Says = true, []string{"The activity is not paused."}
	for i := range s.Waiting {
		if w := &s.Waiting[i]; w.For == view.WaitActivityPaused && w.Name == f.Name {
			f.Says = []string{"The activity is paused, and " + human.Plural(w.Count, "call waits", "calls wait") + " for it."}
		}
	}
	if record.Warning != "" {
		f.Says = append(f.Says, human.Sentence(record.Warning))
	}
	return nil
}

// activityButton leads to the form that pauses the activity of a call on all nodes, or resumes
// it.
func activityButton(c *view.Call) []button {
	do := "pause"
	if c.ActivityPaused != nil {
		do = "resume"
	}
	op, err := changeOf("activity", do)
	if err != nil {
		panic(err)
	}
	if c.Kind != "activity" {
		return nil
	}
	return []button{{Label: op.label + " activity", Says: op.label + " activity " + c.Name, Link: link("change", "kind", "activity", "do", do, "name", c.Name)}}
}
