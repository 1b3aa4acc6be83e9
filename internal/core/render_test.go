package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// renderTurn is a turn as scripts show it.
func renderTurn(t *core.Turn, inputs ...core.Input) string {
	var b strings.Builder
	if len(t.Events) > 0 {
		fmt.Fprintf(&b, "turn %d at %s\n", t.Number, at(t.Time))
		for i := range t.Events {
			fmt.Fprintf(&b, "  %s\n", renderEvent(&t.Events[i]))
		}
	}
	for _, r := range t.Rows {
		b.WriteString(renderRow(r))
	}
	for _, n := range t.Closed {
		fmt.Fprintf(&b, "row %d deleted\n", n)
	}
	for _, r := range t.Attempts {
		b.WriteString(renderRecord(r))
	}
	if t.Attributes != nil {
		fmt.Fprintf(&b, "attributes %v\n", t.Attributes)
	}
	if t.State != nil {
		fmt.Fprintf(&b, "state %s, wake %s", t.State.Status, at(t.State.Wake))
		if t.State.Closed != 0 {
			fmt.Fprintf(&b, ", closed %s", at(t.State.Closed))
		}
		b.WriteByte('\n')
	}
	if t.Next != nil {
		b.WriteString(renderNext(t.Next))
	}
	for _, m := range t.Messages {
		b.WriteString(renderMessage(m))
	}
	for _, d := range t.Dispatch {
		b.WriteString(renderDispatch(d))
	}
	for _, in := range t.Interrupt {
		fmt.Fprintf(&b, "interrupt %d.%d\n", in.Call, in.Attempt)
	}
	for _, ref := range t.Halted {
		fmt.Fprintf(&b, "halt %d.%d\n", ref.Call, ref.Attempt)
	}
	for _, ref := range t.OffProbation {
		fmt.Fprintf(&b, "off probation %d.%d\n", ref.Call, ref.Attempt)
	}
	for _, ref := range t.Transactions {
		fmt.Fprintf(&b, "transaction of %d.%d\n", ref.Call, ref.Attempt)
	}
	for _, n := range t.Unused {
		fmt.Fprintf(&b, "slot of call %d unused\n", n)
	}
	for _, w := range t.Waiting {
		fmt.Fprintf(&b, "tell of %d.%d %s %s\n", w.Call, w.Attempt, w.State, w.Reason)
	}
	for _, r := range t.Replies {
		if r.Failure != nil {
			fmt.Fprintf(&b, "tell %q: %s\n", r.Asker, r.Failure.Message)
		} else {
			fmt.Fprintf(&b, "tell %q: turn %d of %s\n", r.Asker, r.Turn, r.Run)
		}
	}
	for _, i := range t.Deferred {
		if i < len(inputs) {
			in := inputs[i]
			if timed, is := in.(core.Timed); is {
				in = timed.Input
			}
			if in, is := in.(core.UpdateArrived); is {
				fmt.Fprintf(&b, "later %q\n", in.Asker)
			}
		}
	}
	if t.Dropped > 0 {
		fmt.Fprintf(&b, "dropped %d\n", t.Dropped)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// renderNext is how the next run begins.
func renderNext(s *history.Start) string {
	var b strings.Builder
	fmt.Fprintf(&b, "next run %d, attempt %d, of %s input=%s created=%s", s.Number, s.Attempt, s.Type, s.Input, at(s.Created))
	if s.FirstTurn != 0 {
		fmt.Fprintf(&b, " first turn=%s backoff=%s first attempt=%s", at(s.FirstTurn), s.Backoff, at(s.FirstAttempt))
	}
	if s.Deadline != 0 {
		fmt.Fprintf(&b, " deadline=%s", at(s.Deadline))
	}
	if s.Attributes != nil {
		fmt.Fprintf(&b, " attributes=%v", s.Attributes)
	}
	if s.Carried != nil {
		carried, _ := json.Marshal(s.Carried)
		fmt.Fprintf(&b, " carried=%s", carried)
	}
	return b.String() + "\n"
}

// renderMessage is what a run tells another one.
func renderMessage(m core.Message) string {
	to := m.WorkflowID
	if m.Run != "" {
		to += " (" + m.Run + ")"
	}
	if s := m.Start; s != nil {
		parent, _ := json.Marshal(s.Parent)
		text := fmt.Sprintf("start %s of %s input=%s created=%s parent=%s", to, s.Type, s.Input, at(s.Created), parent)
		if s.FirstTurn != 0 {
			text += " first turn=" + at(s.FirstTurn)
		}
		if s.Retry != nil {
			text += " attempts=" + fmt.Sprint(s.Retry.MaxAttempts)
		}
		return text + "\n"
	}
	text := "tell " + to
	switch in := m.Input.(type) {
	case core.Control:
		if text += " " + string(in.Operation); in.Operation == core.SignalTheRun {
			text += fmt.Sprintf(" %s id=%s value=%s", in.Signal, in.SignalID, in.Value)
		} else {
			text += fmt.Sprintf(" chain=%s reason=%q", in.Chain, in.Reason)
		}
	case core.FromChild:
		text += " child" + fmt.Sprintf(" #%d %s run=%s result=%s", in.Call, in.Status, in.Run, in.Result)
		if in.Failure != nil {
			text += " failure=" + renderFailure(in.Failure)
		}
		if in.Reason != "" {
			text += fmt.Sprintf(" reason=%q", in.Reason)
		}
	}
	return text + "\n"
}

// at is an engine time since the beginning.
func at(ns int64) string {
	switch ns {
	case core.Hot:
		return "hot"
	case core.Never:
		return "never"
	}
	return time.Duration(ns - beginning).String()
}

func renderEvent(e *history.Event) string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	add := func(set bool, format string, args ...any) {
		if set {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	add(e.Call != 0, "#%d", e.Call)
	add(e.Name != "", "%s", e.Name)
	add(e.ID != "", "id=%s", e.ID)
	add(e.Operation != "", "%s", e.Operation)
	add(e.Outcome != "", "%s", e.Outcome)
	add(e.By != "", "by=%s", e.By)
	add(e.Note != "", "note=%q", e.Note)
	add(!e.Input.Absent(), "input=%s", e.Input)
	add(!e.Result.Absent(), "result=%s", e.Result)
	if e.Policy != nil {
		policy, _ := json.Marshal(e.Policy)
		add(true, "policy=%s", policy)
	}
	add(e.Queue != "", "queue=%s", e.Queue)
	add(e.Due != 0, "due=%s", at(e.Due))
	add(e.Attempt != 0, "attempt=%d", e.Attempt)
	add(e.Node != "", "on %s", e.Node)
	if e.Queued != e.Started {
		add(e.Queued != 0, "queued=%s", at(e.Queued))
	}
	add(e.Started != 0, "started=%s", at(e.Started))
	add(e.Ended != 0, "ended=%s", at(e.Ended))
	add(e.Place != 0, "place=%d", e.Place)
	add(e.Closed, "closed")
	add(e.Reason != "", "reason=%q", e.Reason)
	add(e.Initiator != "", "by %s", e.Initiator)
	add(e.Deadline != 0, "deadline=%s", at(e.Deadline))
	if e.Child != nil {
		child, _ := json.Marshal(e.Child)
		add(true, "child=%s", child)
	}
	if e.Failure != nil {
		add(true, "failure=%s", renderFailure(e.Failure))
	}
	if e.Retry != nil {
		summary, _ := json.Marshal(e.Retry)
		add(true, "retry=%s", summary)
	}
	return b.String()
}

func renderFailure(f *history.Failure) string {
	s := fmt.Sprintf("%s(%q", f.Type, f.Message)
	for _, c := range f.Causes {
		s += ", " + renderFailure(c)
	}
	return s + ")"
}

func renderRow(r core.Row) string {
	calls := fmt.Sprint(r.Call)
	if r.First != 0 {
		calls = fmt.Sprintf("%d-%d", r.First, r.Call)
	}
	s := fmt.Sprintf("row %s %s attempt=%d", calls, r.State, r.Attempt)
	if r.Due != 0 {
		s += " due=" + at(r.Due)
	}
	p, err := core.DecodeProgress(r.Data)
	if err != nil {
		return s + " " + err.Error() + "\n"
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"failures", p.Failures}, {"losses", p.Losses}, {"crashes", len(p.CrashedOn)}, {"drains", p.Drains}} {
		if n.value != 0 {
			s += fmt.Sprintf(" %s=%d", n.name, n.value)
		}
	}
	if p.BeatAt != 0 {
		s += " beat=" + at(p.BeatAt)
	}
	if !p.Details.Absent() {
		s += " details=" + p.Details.String()
	}
	if p.OnProbation {
		s += " probation"
	}
	if p.Group != 0 {
		s += fmt.Sprintf(" group=%d", p.Group)
	}
	if p.Cancel {
		s += " cancel"
	}
	return s + "\n"
}

func renderRecord(r core.Record) string {
	s := fmt.Sprintf("ledger %d.%d %s %s", r.Call, r.Attempt, r.Name, r.Outcome)
	if r.ErrorType != "" {
		s += " " + r.ErrorType
	}
	s += " reason=" + r.Reason
	if r.Started != 0 {
		s += " started=" + at(r.Started)
	}
	s += " ended=" + at(r.Ended)
	var d core.AttemptDetail
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return s + " " + err.Error() + "\n"
	}
	if d.Node != "" {
		s += " on " + d.Node
	}
	if d.Message != "" {
		s += fmt.Sprintf(" message=%q", d.Message)
	}
	if d.Next != 0 {
		s += fmt.Sprintf(" delay=%s next=%s", d.Delay, at(d.Next))
	}
	if d.Rule != 0 {
		s += fmt.Sprintf(" rule=%d", d.Rule)
	}
	if r.Prune != 0 {
		s += fmt.Sprintf(" prune=%d", r.Prune)
	}
	return s + "\n"
}

func renderDispatch(d core.Dispatch) string {
	s := fmt.Sprintf("dispatch %d.%d %s, at most %d", d.Call, d.Attempt, d.Name, d.Max)
	if d.Final {
		s += ", final"
	}
	if d.Step {
		s += ", inline"
	}
	if d.Probation {
		s += ", on probation"
	}
	if !d.Details.Absent() {
		s += ", details " + d.Details.String()
	}
	if d.AttemptTimeout != 0 {
		s += fmt.Sprintf(", timeout %s", d.AttemptTimeout)
	}
	return s + "\n"
}
