package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// timeline shows the attempts of a run over time, one row per call. Attempts are bars,
// backoff is a tinted gap, and waits for a gate or a slot are pale. The server draws it;
// horizontal positions are percent, so it fits any width.
type timeline struct {
	Height int
	Says   string // for readers who cannot see it
	Ticks  []chartLabel
	Rows   []timeRow
	Now    string // position of the present; empty if the run is closed
	Left   string // what is omitted
	Paused bool   // a bar shows a pause
	Asked  bool   // a bar shows a question about an attempt
}

type timeRow struct {
	Y     int // of its label
	BarY  int
	Label string
	Bars  []rectangle
	Next  string // position of the next attempt; empty if there is none
	Until string // time of the next attempt
}

const (
	timeRows = 30  // maximum number of rows: open calls, then those with most attempts
	rowHigh  = 36  // pixels
	headHigh = 22  // of the scale
	least    = 0.5 // percent: narrower bars are merged
)

// stretch is an attempt or a wait on the scale.
type stretch struct {
	from, to float64 // percent
	class    string
	count    int
	says     string
}

func (q *request) timeline(d *view.Description, attempts []view.Attempt) *timeline {
	rows := timeRowsOf(d, attempts)
	if len(rows) == 0 {
		return nil
	}
	t := &timeline{Says: fmt.Sprintf("Attempts of %s over time. The tables below say the same.", human.Plural(len(rows), "call", "calls"))}
	if len(rows) > timeRows {
		t.Left = fmt.Sprintf("%d of %s calls are drawn: the open ones, then those with most attempts.", timeRows, human.Count(len(rows)))
		rows = rows[:timeRows]
	}
	slices.SortFunc(rows, func(a, b *rowData) int { return cmp.Compare(a.call, b.call) })
	s := q.scale(d, rows)
	t.Ticks = s.ticks()
	if d.Closed == nil {
		t.Now = percent(s.place(q.now))
	}
	for i, r := range rows {
		y := headHigh + i*rowHigh
		row := timeRow{Y: y + 13, BarY: y + 19, Label: fmt.Sprintf("%d %s", r.call, human.Clip(r.name, 60))}
		attempts, questions := r.count()
		if attempts > 1 {
			row.Label += fmt.Sprintf(" · %s attempts", human.Count(attempts))
		}
		if questions > 0 {
			row.Label += " · " + human.Plural(questions, "question", "questions")
			t.Asked = true
		}
		if p := r.pending; p != nil {
			row.Label += " · " + p.State
		}
		row.Bars = s.bars(r, y+19, q.now)
		if p := r.pending; p != nil && p.Next != nil && p.State == view.CallBackoff {
			row.Next, row.Until = percent(s.place(*p.Next)), human.Until(*p.Next, q.now)
		}
		t.Paused = t.Paused || slices.ContainsFunc(row.Bars, func(b rectangle) bool { return b.Tone == "held" })
		t.Rows = append(t.Rows, row)
	}
	t.Height = headHigh + len(rows)*rowHigh + 4
	return t
}

// rowData is a call with its attempts.
type rowData struct {
	call     int64
	name     string
	attempts []view.Attempt
	pending  *view.Call
}

// count returns how many attempts a call has, and how many questions about them.
func (r *rowData) count() (attempts, questions int) {
	for i := range r.attempts {
		if attempts += r.attempts[i].NotKept; r.attempts[i].Question > 0 {
			questions++
		} else {
			attempts++
		}
	}
	return attempts, questions
}

// timeRowsOf returns the calls with attempts, in drawing order.
func timeRowsOf(d *view.Description, attempts []view.Attempt) (rows []*rowData) {
	byCall := map[int64]*rowData{}
	row := func(call int64, name string) *rowData {
		if byCall[call] == nil {
			byCall[call] = &rowData{call: call, name: name}
			rows = append(rows, byCall[call])
		}
		return byCall[call]
	}
	for i := range attempts {
		r := row(attempts[i].Call, attempts[i].Name)
		r.attempts = append(r.attempts, attempts[i])
	}
	for i := range d.Pending {
		if p := &d.Pending[i]; p.Attempt > 0 {
			row(p.Call, p.Name).pending = p
		}
	}
	slices.SortStableFunc(rows, func(a, b *rowData) int {
		switch {
		case (a.pending == nil) == (b.pending == nil):
			return cmp.Compare(len(b.attempts), len(a.attempts))
		case a.pending != nil:
			return -1
		}
		return 1
	})
	return rows
}

// scale maps times to positions.
type scale struct {
	from time.Time
	span time.Duration
}

// scale returns the scale of a run: from its beginning to its end or now, and a bit of the
// future, so that the next attempt is in sight unless that would make the past too small.
func (q *request) scale(d *view.Description, rows []*rowData) scale {
	from, to := d.Created, q.now
	if d.Closed != nil {
		to = *d.Closed
	}
	past := max(to.Sub(from), time.Millisecond)
	ahead := past / 50
	for _, r := range rows {
		if r.pending != nil && r.pending.Next != nil {
			ahead = max(ahead, min(r.pending.Next.Sub(to)+past/50, past/2))
		}
	}
	return scale{from, past + ahead}
}

// place returns the position of a time, in percent.
func (s scale) place(t time.Time) float64 {
	return min(100, max(0, 100*float64(t.Sub(s.from))/float64(s.span)))
}

// steps are distances between ticks that people read easily.
var steps = []time.Duration{
	time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// ticks returns at most five times on the scale, as time since its beginning.
func (s scale) ticks() (all []chartLabel) {
	step := steps[len(steps)-1]
	for _, d := range steps {
		if s.span/d <= 4 {
			step = d
			break
		}
	}
	step = max(step, s.span/5)
	for d := time.Duration(0); d <= s.span && len(all) < 8; d += step {
		x := 100 * float64(d) / float64(s.span)
		t := chartLabel{X: percent(x), Text: "+" + human.Exact(d), Anchor: "middle"}
		switch {
		case d == 0:
			t.Anchor, t.Text = "start", s.from.Local().Format("15:04:05")
		case x > 92:
			t.Anchor = "end"
		}
		all = append(all, t)
	}
	return all
}

// bars returns what to draw for a call.
func (s scale) bars(r *rowData, y int, now time.Time) (out []rectangle) {
	var all []stretch
	add := func(from, to time.Time, class, says string) {
		if to.After(from) || class != "gap" && class != "gate" {
			all = append(all, stretch{s.place(from), s.place(to), class, 1, says})
		}
	}
	for i := range r.attempts {
		a := &r.attempts[i]
		if a.Started == nil {
			continue
		}
		end := now
		if a.Ended != nil {
			end = *a.Ended
		}
		if a.Queued != nil {
			add(*a.Queued, *a.Started, "gate", fmt.Sprintf("attempt %d waited %s for its turn", a.Number, human.Duration(a.Started.Sub(*a.Queued))))
		}
		what := "attempt"
		if a.Question > 0 {
			what = "question"
		}
		add(*a.Started, end, tone(a.Outcome), fmt.Sprintf("%s %d: %s after %s. %s", what, cmp.Or(a.Question, a.Number), a.Outcome, human.Duration(end.Sub(*a.Started)), human.Clip(wording.Typed(a.ErrorType, a.Message), 200)))
		if a.Next != nil && a.Ended != nil && a.Delay > 0 {
			add(*a.Ended, *a.Next, "gap", fmt.Sprintf("backoff of %s after attempt %d", human.Duration(a.Delay), a.Number))
		}
	}
	if p := r.pending; p != nil {
		switch {
		case p.State == view.CallRunning && p.Started != nil, p.State == view.CallExternal && p.Started != nil:
			add(*p.Started, now, "busy", fmt.Sprintf("attempt %d runs since %s", p.Attempt, human.Duration(now.Sub(*p.Started))))
		case p.State == view.CallGated || p.State == view.CallQueued:
			from := p.Scheduled
			if n := len(r.attempts); n > 0 && r.attempts[n-1].Next != nil {
				from = *r.attempts[n-1].Next
			}
			add(from, now, "gate", fmt.Sprintf("attempt %d waits for its turn", p.Attempt))
		case p.Paused != nil:
			add(p.Paused.Since, now, "held", "paused")
		}
	}
	return drawn(all, y)
}

// drawn makes bars from stretches: waits first, behind what ran. Bars too close to tell
// apart are merged into one that says how many they are.
func drawn(all []stretch, y int) (out []rectangle) {
	for _, waits := range []bool{true, false} {
		var last *stretch
		flush := func() {
			if last == nil {
				return
			}
			b := rectangle{last.class, percent(last.from), strconv.Itoa(y), percent(max(last.to-last.from, 0.35)), "12", last.says}
			if waits {
				b.Y, b.H = strconv.Itoa(y+3), "6"
			}
			if last.count > 1 {
				b.Says = fmt.Sprintf("%s here, the last: %s", human.Count(last.count), last.says)
			}
			out = append(out, b)
		}
		for i := range all {
			next := all[i]
			if (next.class == "gap" || next.class == "gate") != waits {
				continue
			}
			if last != nil && (next.from < last.from+least && next.to < last.to+least || next.class == last.class && waits && next.from < last.to+least) {
				last.to, last.count, last.says = max(last.to, next.to), last.count+1, next.says
				if next.class == "bad" || next.class == "retry" && last.class != "bad" {
					last.class = next.class
				}
				continue
			}
			flush()
			last = &next
		}
		flush()
	}
	return out
}
