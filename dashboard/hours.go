package dashboard

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/view"
)

// lastDay draws what began and ended in each hour of the last day: runs, or the calls of an
// activity. It is nil if nothing did.
func lastDay(q *request, workflow, activity string) (*barChart, error) {
	hours, err := listing.HourStats.Read(q.ctx, q.engine, &listing.Hours{Workflow: workflow, Activity: activity}, q.now)
	if err != nil {
		return nil, err
	}
	started, completed, failed := series{"started", "calm", nil}, series{"completed", "good", nil}, series{"failed", "bad", nil}
	empty := true
	for i := range hours {
		h := &hours[i]
		empty = empty && h.Started+h.Completed+h.Failed+h.Canceled == 0
		started.counts = append(started.counts, int(h.Started))
		completed.counts = append(completed.counts, int(h.Completed))
		failed.counts = append(failed.counts, int(h.Failed))
	}
	if empty {
		return nil, nil
	}
	all, title, noun := []series{started, completed, failed}, "Runs per hour", "runs"
	if activity != "" {
		all, title, noun = all[1:], fmt.Sprintf("Calls of %s per hour", activity), "calls"
	}
	line := timeSpans{hours[0].Hour, time.Hour, len(hours)}
	c := line.draw(title, noun, 64, all...)
	c.Heads, c.Rows = append(c.Heads, "canceled", "attempts", "median", "95 %"), nil
	for i := range hours {
		c.Rows = append(c.Rows, rowOfHour(line.label(i), &hours[i], all, i))
	}
	for i := len(hours) - 1; i >= 0; i-- {
		if h := &hours[i]; h.Median > 0 {
			c.Title += fmt.Sprintf("; those that ended from %s on took %s (median) and %s (95 %%)", line.label(i), human.Duration(h.Median), human.Duration(h.P95))
			break
		}
	}
	return c, nil
}

// rowOfHour is an hour of the chart as a row of its table.
func rowOfHour(label string, h *view.HourStats, drawn []series, i int) chartRow {
	row := chartRow{Name: label}
	for _, s := range drawn {
		row.Values = append(row.Values, human.Count(s.counts[i]))
	}
	row.Values = append(row.Values, human.Count(int(h.Canceled)), human.Count(int(h.Attempts)), human.Took(h.Median), human.Took(h.P95))
	return row
}
