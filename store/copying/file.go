package copying

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/envelope"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// A file has one run a line, which history.DecodeRecordings reads, too. docs/moving.md describes
// it.

// line is a run in a file.
type line struct {
	Kind     string    `json:"kind"` // history.RecordingKind
	Redacted bool      `json:"redacted,omitempty"`
	Start    document  `json:"start"`
	Turns    []turn    `json:"turns"`
	Run      run       `json:"run"`
	Calls    []call    `json:"calls,omitempty"`
	Attempts []attempt `json:"attempts,omitempty"`
	Tasks    []task    `json:"tasks,omitempty"`
	Messages []message `json:"messages,omitempty"`
}

type run struct {
	ID         string            `json:"id"`
	WorkflowID string            `json:"workflow_id"`
	Type       string            `json:"type"`
	Group      string            `json:"group,omitempty"`
	Chain      string            `json:"chain"`
	Attempt    int               `json:"attempt"`
	Created    int64             `json:"created"`
	Priority   int               `json:"priority,omitempty"`
	Key        string            `json:"key,omitempty"`
	Weight     int               `json:"weight,omitempty"`
	Latest     bool              `json:"latest,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Status     store.Status      `json:"status"`
	Wake       int64             `json:"wake,omitempty"`
	Closed     int64             `json:"closed,omitempty"`
	Full       bool              `json:"full,omitempty"`
	Detail     document          `json:"detail,omitzero"`
}

type turn struct {
	Number int64    `json:"number"`
	Time   int64    `json:"time"`
	Commit int64    `json:"commit,omitempty"`
	Turn   document `json:"turn"`
}

type call struct {
	Number  int64           `json:"number"`
	First   int64           `json:"first,omitempty"`
	State   store.CallState `json:"state"`
	Name    string          `json:"name"`
	Queue   string          `json:"queue,omitempty"`
	Attempt int             `json:"attempt"`
	Due     int64           `json:"due,omitempty"`
	Data    document        `json:"data,omitzero"`
}

type attempt struct {
	Call      int64    `json:"call"`
	Number    int      `json:"number"`
	Name      string   `json:"name"`
	Outcome   string   `json:"outcome"`
	ErrorType string   `json:"error_type,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Started   int64    `json:"started"`
	Ended     int64    `json:"ended"`
	Data      document `json:"data,omitzero"`
}

type task struct {
	Number   int64    `json:"number"`
	Attempt  int      `json:"attempt"`
	Queue    string   `json:"queue"`
	Name     string   `json:"name"`
	Key      string   `json:"key,omitempty"`
	Weight   int      `json:"weight,omitempty"`
	Priority int      `json:"priority,omitempty"`
	Suspect  bool     `json:"suspect,omitempty"`
	Offered  int64    `json:"offered"`
	Latest   int64    `json:"latest,omitempty"`
	Worker   string   `json:"worker,omitempty"`
	Claimed  int64    `json:"claimed,omitempty"`
	Settled  bool     `json:"settled,omitempty"`
	Stopped  bool     `json:"stopped,omitempty"`
	Data     document `json:"data,omitzero"`
}

type message struct {
	Run    string   `json:"run,omitempty"`
	Key    string   `json:"key"`
	Kind   string   `json:"kind"`
	Posted int64    `json:"posted"`
	Data   document `json:"data,omitzero"`
}

// document is a document as it is stored: JSON, or in base64 what a codec made of it.
type document []byte

// MarshalJSON implements json.Marshaler.
func (d document) MarshalJSON() ([]byte, error) {
	if len(d) > 0 && d[0] == '{' {
		var compact bytes.Buffer
		if json.Compact(&compact, d) == nil && bytes.Equal(compact.Bytes(), d) {
			return d, nil
		}
	}
	return json.Marshal([]byte(d))
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *document) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		*d = slices.Clone(text)
		return nil
	}
	var b []byte
	err := json.Unmarshal(text, &b)
	*d = b
	return err
}

// IsZero leaves out empty documents.
func (d document) IsZero() bool { return len(d) == 0 }

// redacted returns a document without what users wrote: values, words of errors and of people.
func redacted(d []byte) (document, error) {
	if len(d) == 0 {
		return nil, nil
	}
	if envelope.Is(d) {
		e, err := envelope.Parse(d)
		if err != nil {
			return nil, err
		}
		return e.Face, nil
	}
	face := envelope.Face(d, "redacted")
	if face == nil {
		return nil, errors.New("a document is no JSON, so it cannot be redacted")
	}
	return face, nil
}

// Read reads everything that belongs to a run of a group of nodes. The error is
// store.ErrNotFound if there is no such run.
func Read(ctx context.Context, db store.Store, group, workflowID, id string) (*store.Rows, error) {
	g, err := db.Group(ctx, group)
	if err != nil {
		return nil, err
	}
	partition := entity.Place(g, workflowID)
	record, err := db.Load(ctx, partition, id)
	if err != nil {
		return nil, err
	}
	w := store.WholeRun{Run: record.Run, Turns: record.Turns, Calls: record.Calls}
	if w.Attempts, err = db.Attempts(ctx, partition, id, store.AttemptRange{}); err != nil {
		return nil, err
	}
	if w.Tasks, err = db.Tasks(ctx, store.TaskFilter{Partitions: []int{partition}, Run: id, Limit: 1 << 20}); err != nil {
		return nil, err
	}
	messages, err := db.Posted(ctx, partition, w.Run.WorkflowID)
	messages = slices.DeleteFunc(messages, func(m store.Message) bool { return m.Run != id && (m.Run != "" || !w.Run.Latest) })
	return &store.Rows{Runs: []store.WholeRun{w}, Messages: messages}, err
}

// Write writes the only run of rows as a line. With redact it drops what users wrote.
func Write(to io.Writer, rows *store.Rows, redact bool) error {
	w := &rows.Runs[0]
	r := &w.Run
	var failed error
	doc := func(d []byte) document {
		if !redact {
			return d
		}
		face, err := redacted(d)
		failed = cmp.Or(failed, err)
		return face
	}
	l := line{Kind: history.RecordingKind, Redacted: redact, Start: doc(r.Start), Turns: []turn{}, Run: run{
		ID: r.ID, WorkflowID: r.WorkflowID, Type: r.Type, Group: r.Group, Chain: r.Chain, Attempt: r.Attempt, Created: r.Created,
		Priority: r.Priority, Key: r.Key, Weight: r.Weight, Latest: r.Latest, Status: r.Status, Wake: r.Wake, Closed: r.Closed, Full: r.Full, Detail: doc(r.Detail),
	}}
	for _, a := range r.Attributes {
		if l.Run.Attributes == nil {
			l.Run.Attributes = map[string]string{}
		}
		l.Run.Attributes[a.Name] = a.Value
	}
	for _, t := range w.Turns {
		l.Turns = append(l.Turns, turn{t.Number, t.Time, t.CommitID, doc(t.Events)})
	}
	for _, k := range w.Calls {
		l.Calls = append(l.Calls, call{k.Number, k.First, k.State, k.Name, k.Queue, k.Attempt, k.Due, doc(k.Data)})
	}
	for _, a := range w.Attempts {
		l.Attempts = append(l.Attempts, attempt{a.Call, a.Number, a.Name, a.Outcome, a.ErrorType, a.Reason, a.Started, a.Ended, doc(a.Data)})
	}
	for _, t := range w.Tasks {
		l.Tasks = append(l.Tasks, task{t.Number, t.Attempt, t.Queue, t.Name, t.Key, t.Weight, t.Priority, t.Suspect, t.Offered, t.Latest, t.Worker, t.Claimed, t.Settled, t.Stopped, doc(t.Data)})
	}
	for _, m := range rows.Messages {
		l.Messages = append(l.Messages, message{m.Run, m.Key, m.Kind, m.Posted, doc(m.Data)})
	}
	if failed != nil {
		return fmt.Errorf("run %s: %w", r.ID, failed)
	}
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false) // documents keep their bytes
	return e.Encode(l)
}

// Parse reads the lines of a file.
func Parse(from io.Reader) (all []store.Rows, err error) {
	lines := json.NewDecoder(from)
	for n := 1; ; n++ {
		var l line
		if err := lines.Decode(&l); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("run %d of the file cannot be read: %w", n, err)
		}
		if l.Run.ID == "" || l.Run.WorkflowID == "" || l.Run.Chain == "" || len(l.Start) == 0 {
			return nil, fmt.Errorf("run %d of the file has only a history, which can be replayed but not imported: make the file with perdure export %s", n, see.Files)
		}
		if l.Redacted {
			return nil, fmt.Errorf("run %d of the file is redacted, so no database could read it: make the file without --redact", n)
		}
		all = append(all, l.rows())
	}
}

func (l *line) rows() store.Rows {
	r := &l.Run
	w := store.WholeRun{Run: store.Run{
		ID: r.ID, WorkflowID: r.WorkflowID, Type: r.Type, Group: r.Group, Chain: r.Chain, Attempt: r.Attempt, Start: l.Start, Created: r.Created,
		Priority: r.Priority, Key: r.Key, Weight: r.Weight, Latest: r.Latest, RunState: store.RunState{Status: r.Status, Wake: r.Wake, Closed: r.Closed, Detail: r.Detail, Full: r.Full},
	}}
	for name, value := range r.Attributes {
		w.Run.Attributes = append(w.Run.Attributes, store.Attribute{Name: name, Value: value})
	}
	w.Run.Attributes = store.SortAttributes(w.Run.Attributes)
	for _, t := range l.Turns {
		w.Turns = append(w.Turns, store.TurnRow{Number: t.Number, CommitID: t.Commit, Time: t.Time, Events: t.Turn})
	}
	for _, k := range l.Calls {
		w.Calls = append(w.Calls, store.Call{Number: k.Number, First: k.First, State: k.State, Name: k.Name, Queue: k.Queue, Attempt: k.Attempt, Due: k.Due, Data: k.Data})
	}
	for _, a := range l.Attempts {
		w.Attempts = append(w.Attempts, store.Attempt{Call: a.Call, Number: a.Number, Name: a.Name, Outcome: a.Outcome, ErrorType: a.ErrorType, Reason: a.Reason, Started: a.Started, Ended: a.Ended, Data: a.Data})
	}
	for _, t := range l.Tasks {
		w.Tasks = append(w.Tasks, store.Task{
			TaskRef: store.TaskRef{Number: t.Number, Attempt: t.Attempt}, WorkflowID: r.WorkflowID, Queue: t.Queue, Name: t.Name, Key: t.Key, Weight: t.Weight, Priority: t.Priority, Suspect: t.Suspect,
			Offered: t.Offered, Latest: t.Latest, Worker: t.Worker, Claimed: t.Claimed, Settled: t.Settled, Stopped: t.Stopped, Data: t.Data,
		})
	}
	rows := store.Rows{Runs: []store.WholeRun{w}}
	for _, m := range l.Messages {
		rows.Messages = append(rows.Messages, store.Message{WorkflowID: r.WorkflowID, Run: m.Run, Key: m.Key, Kind: m.Kind, Posted: m.Posted, Data: m.Data})
	}
	return rows
}

// importing identifies the seals of imports.
const importing = "import"

// Import inserts the runs of a file into a database that no engine uses, and returns how many
// of them were new. It closes the database meanwhile; after an interruption it has to be
// repeated. A run that is there already stays as it is.
func Import(ctx context.Context, db store.Store, file string, all []store.Rows, now int64) (added int, err error) {
	if !db.Info().Closes {
		return 0, refuse("Import them into an SQLite file.", "%s cannot be closed for the import: its tables are distributed over several servers.", db.Info().Location)
	}
	closed, err := db.Sealed(ctx)
	if err != nil {
		return 0, err
	}
	before := store.Seal{}
	if closed.Closed() && closed.Copy == importing {
		err = json.Unmarshal([]byte(closed.Note), &before)
	} else if closed.Closed() {
		err = &store.SealedError{Location: db.Info().Location, Seal: closed}
	} else {
		before = closed
		text, _ := json.Marshal(before) // cannot fail
		closed = store.Seal{State: store.SealedTarget, Copy: importing, Other: file, Since: now, Note: string(text)}
		err = db.Seal(ctx, before, closed, nil)
	}
	if err != nil {
		return 0, err
	}
	rows, err := fresh(ctx, db, all)
	if err != nil {
		return 0, errors.Join(err, db.Seal(context.WithoutCancel(ctx), closed, before, nil))
	}
	return len(rows.Runs), db.Seal(ctx, closed, before, rows)
}

// fresh returns the rows of the runs that the database does not have, in their places.
func fresh(ctx context.Context, db store.Store, all []store.Rows) (*store.Rows, error) {
	rows, taken := &store.Rows{}, map[string]bool{}
	for i := range all {
		w := &all[i].Runs[0]
		g, err := db.Group(ctx, w.Run.Group)
		if err != nil {
			return nil, err
		}
		placeRun(g, w)
		at := &w.Run
		if atGate(w) {
			return nil, refuse("Export it again when it has left its gates, or copy the whole database "+see.Copying+".",
				"Run %s of workflow %q has a place at a gate, or in the line before it, which is not in the file: it would wait for ever. Nothing was imported.", at.ID, at.WorkflowID)
		}
		switch _, err := db.Find(ctx, at.Partition, "", at.ID); {
		case err == nil || taken["run "+at.Group+"/"+at.ID]:
			continue
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
		taken["run "+at.Group+"/"+at.ID] = true
		if at.Latest {
			other, err := db.Find(ctx, at.Partition, at.WorkflowID, "")
			switch {
			case err == nil:
				return nil, refuse("Import into another database.", "Workflow ID %q is taken by run %s, so run %s cannot have it. Nothing was imported.", at.WorkflowID, other.ID, at.ID)
			case !errors.Is(err, store.ErrNotFound):
				return nil, err
			case taken["id "+at.Group+"/"+at.WorkflowID]:
				return nil, refuse("Make the file again.", "Two runs of the file are the latest of workflow ID %q. Nothing was imported.", at.WorkflowID)
			}
			taken["id "+at.Group+"/"+at.WorkflowID] = true
		}
		for _, m := range all[i].Messages {
			m.Partition = entity.Place(g, m.WorkflowID)
			rows.Messages = append(rows.Messages, m)
		}
		rows.Runs = append(rows.Runs, *w)
	}
	return rows, nil
}

// atGate reports whether an open run, or a call of it, has a ticket at a gate. The other half of a
// ticket is with the gate. Of documents behind codecs only the states of calls can be read.
func atGate(w *store.WholeRun) bool {
	if !w.Run.Status.Open() {
		return false
	}
	var run struct{ Admission *struct{} }
	if json.Unmarshal(w.Run.Detail, &run) == nil && run.Admission != nil {
		return true
	}
	return slices.ContainsFunc(w.Calls, func(c store.Call) bool {
		var call struct{ Passes []struct{ State string } }
		_ = json.Unmarshal(c.Data, &call)
		return c.State == store.Gated || slices.ContainsFunc(call.Passes, func(p struct{ State string }) bool { return p.State != "" })
	})
}

// Open returns the IDs of the runs that an engine would continue with.
func Open(all []store.Rows) (ids []string) {
	for i := range all {
		if r := &all[i].Runs[0].Run; r.Status.Open() {
			ids = append(ids, r.WorkflowID)
		}
	}
	return ids
}
