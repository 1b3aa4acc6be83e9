package store

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// KindCreated is the kind of the message by which Client.Create tells the owner of a new run.
// Its Run is the run's ID and its Key is CreatedKey of that.
const KindCreated = "created"

// LeftKey returns the key of a message that stays with a run that is no longer the latest of
// its workflow ID. Under its old key, a message for the next run would be taken for a
// repetition of it. The result has a prefix, the length of the run ID, the run ID and the key,
// so it is unique for the pair.
func LeftKey(run, key string) string { return "left/" + strconv.Itoa(len(run)) + ":" + run + "/" + key }

// CreatedKey returns the key of the message about a new run.
func CreatedKey(run string) string { return "created/" + run }

// CreatedMessage returns the message that tells the owner of a new run.
func (r *Run) CreatedMessage() Message {
	return Message{Partition: r.Partition, WorkflowID: r.WorkflowID, Run: r.ID, Key: CreatedKey(r.ID), Kind: KindCreated}
}

// Check returns an error if no database can have such a partition. Only the database knows
// whether this one has it.
func (i Info) Check(partition int) error {
	if partition < 0 {
		return fmt.Errorf("partition %d does not exist: partitions count from 0", partition)
	}
	return nil
}

// Ordered returns partitions sorted and without duplicates, or the error of Check for one.
func (i Info) Ordered(partitions []int) ([]int, error) {
	for _, p := range partitions {
		if err := i.Check(p); err != nil {
			return nil, err
		}
	}
	partitions = slices.Clone(partitions)
	slices.Sort(partitions)
	return slices.Compact(partitions), nil
}

// errNoPartition is wrapped by the errors of NoPartition.
var errNoPartition = errors.New("ask Group which partitions a group has")

// NoPartition returns the error for a partition that the database does not have.
func NoPartition(partition int) error {
	return fmt.Errorf("partition %d does not exist: %w", partition, errNoPartition)
}

// IsNoPartition reports whether err is from NoPartition.
func IsNoPartition(err error) bool { return errors.Is(err, errNoPartition) }

// Page returns the maximum number of rows for the limit of a filter: 100 if it is 0 or less.
func Page(limit int) int {
	if limit <= 0 {
		return 100
	}
	return limit
}

// Check returns an error if the node cannot join.
func (n *Node) Check(info Info) error {
	switch {
	case n.ID == "":
		return fmt.Errorf("a node needs an ID to join")
	case info.Shared && n.Lease <= 0:
		return fmt.Errorf("node %q has a lease of %s: others would take its partitions immediately", n.ID, n.Lease)
	case n.Supersede && n.Name == "":
		return fmt.Errorf("node %q has no name that it could have taken over", n.ID)
	}
	for _, name := range n.Encodes {
		if name == "" || !slices.Contains(n.Codecs, name) {
			return fmt.Errorf("node %q encodes with the codec %q, with which it does not decode", n.ID, name)
		}
	}
	return text("node", append([]string{n.ID, n.Name, n.Group, n.Build, n.Definitions}, n.Encodes...)...)
}

// Check returns an error if no store would accept the renewal.
func (r *Renewal) Check() error {
	if r.Next == 0 {
		return fmt.Errorf("the renewal of node %q has the number 0: a later one could not be told from a stranger's first", r.Node)
	}
	return nil
}

// CheckGroup returns an error if no group can have the name.
func CheckGroup(name string) error { return text("group", name) }

// Validate returns an error if no store would accept the turn. A store calls it before it
// writes, so all stores refuse the same turns: those that lack something, that name another
// partition or run, or that have text which some databases cannot keep (invalid UTF-8 or a NUL
// character).
func (t *Turn) Validate(info Info) error {
	if err := t.validate(info); err != nil {
		return fmt.Errorf("turn %d of run %q is malformed, which is a bug in perdure; report it with the run ID: %w", t.Number, t.Run, err)
	}
	return nil
}

func (t *Turn) validate(info Info) error {
	if err := info.Check(t.Partition); err != nil {
		return err
	}
	if t.Number < 0 {
		return fmt.Errorf("its number is negative")
	}
	if t.Run == "" && (t.Number > 0 || t.State != nil || t.Create != nil || len(t.Calls)+len(t.Closed)+len(t.Attempts) > 0) {
		return fmt.Errorf("it names no run")
	}
	if t.Number == 0 && t.Create == nil && (len(t.Messages) > 0 && !t.Repeatable || t.Hook != nil) {
		return fmt.Errorf("it has a hook, or messages that must not be repeated, but neither a number nor a new run: a repeated commit could not be told from the first")
	}
	if t.Remove && (t.Run == "" || t.NeedsRun()) {
		return fmt.Errorf("it removes its run, and names none or writes to it")
	}
	if t.Number == 0 && len(t.Tallies) > 0 {
		return fmt.Errorf("it has tallies but no number: a repeated commit would count twice")
	}
	if t.Attributes != nil {
		if t.Number == 0 {
			return fmt.Errorf("it has attributes but no number: a repeated commit would take back what came after it")
		}
		if err := checkAttributes(t.Run, *t.Attributes); err != nil {
			return err
		}
	}
	if err := text("run ID", t.Run); err != nil {
		return err
	}
	if t.Create != nil {
		if t.Create.Partition != t.Partition {
			return fmt.Errorf("it creates run %q in partition %d, but belongs to partition %d", t.Create.ID, t.Create.Partition, t.Partition)
		}
		if b := t.Create.Base; b != nil && t.Create.ID == t.Run && t.Number > 0 && t.Number <= b.Last.Number {
			return fmt.Errorf("its run begins with a history of %d turns", b.Last.Number)
		}
		if err := t.Create.Validate(info); err != nil {
			return err
		}
	}
	if t.State != nil {
		if err := t.State.validate(); err != nil {
			return err
		}
	}
	if err := t.validateTasks(); err != nil {
		return err
	}
	return t.validateRows(info)
}

func (t *Turn) validateRows(info Info) error {
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Run != "" && c.Run != t.Run || c.Partition != 0 && c.Partition != t.Partition {
			return fmt.Errorf("call %d belongs to run %q of partition %d", c.Number, c.Run, c.Partition)
		}
		if c.State == "" {
			return fmt.Errorf("call %d has no state", c.Number)
		}
		if wrong := c.shared(); wrong != "" {
			return fmt.Errorf("the row of call %d %s", c.Number, wrong)
		}
		if err := text("call", string(c.State), c.Name, c.Queue); err != nil {
			return err
		}
	}
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Run != "" && a.Run != t.Run || a.Partition != 0 && a.Partition != t.Partition {
			return fmt.Errorf("attempt %d of call %d belongs to run %q of partition %d", a.Number, a.Call, a.Run, a.Partition)
		}
		if a.Number < 1 {
			return fmt.Errorf("attempt %d of call %d: attempts count from 1", a.Number, a.Call)
		}
		if a.Prune < 0 || a.Prune >= a.Number {
			return fmt.Errorf("attempt %d of call %d prunes attempt %d, which is not an earlier one", a.Number, a.Call, a.Prune)
		}
		if err := text("attempt", a.Name, a.Outcome, a.ErrorType, a.Reason); err != nil {
			return err
		}
	}
	for i := range t.Tallies {
		if err := t.Tallies[i].validate(); err != nil {
			return err
		}
	}
	for i := range t.Messages {
		if err := t.Messages[i].Validate(info); err != nil {
			return err
		}
		if t.Messages[i].Replace {
			return fmt.Errorf("its message %q replaces another one, which only a posted one can", t.Messages[i].Key)
		}
	}
	return nil
}

func (t *Tally) validate() error {
	if t.Type == "" {
		return fmt.Errorf("a tally counts runs, or calls of %q, of a workflow without a name", t.Name)
	}
	for _, n := range t.Counts() {
		if *n < 0 || t.Took < 0 {
			return fmt.Errorf("the tally of %q takes counts or time back", t.Name)
		}
	}
	return text("tally", t.Type, t.Name)
}

// Validate returns an error if no store would create the run.
func (r *Run) Validate(info Info) error {
	if err := info.Check(r.Partition); err != nil {
		return err
	}
	switch {
	case r.ID == "":
		return fmt.Errorf("a new run needs an ID")
	case r.WorkflowID == "":
		return fmt.Errorf("run %q has no workflow ID", r.ID)
	case r.Type == "":
		return fmt.Errorf("run %q has no type", r.ID)
	case r.Chain == "":
		return fmt.Errorf("run %q has no chain: the first run of a chain is its own", r.ID)
	}
	if err := r.Base.validate(info); err != nil {
		return fmt.Errorf("run %q cannot begin with a history: %w", r.ID, err)
	}
	if err := checkAttributes(r.ID, r.Attributes); err != nil {
		return err
	}
	if err := text("run", r.ID, r.WorkflowID, r.Type, r.Group, r.Chain, r.After); err != nil {
		return err
	}
	return r.RunState.validate()
}

// MayFollow reports whether a new run may follow latest, the latest run of its workflow ID,
// once that has ended.
func (r *Run) MayFollow(latest *Run) bool {
	if r.After != "" {
		return r.After == latest.ID
	}
	return r.Chain == latest.Chain
}

func (b *Base) validate(info Info) error {
	switch {
	case b == nil:
		return nil
	case b.Run == "":
		return fmt.Errorf("it names no run")
	case b.Turns < 0:
		return fmt.Errorf("it has %d turns", b.Turns)
	case b.Last.Number != b.Turns+1:
		return fmt.Errorf("turn %d follows turn %d", b.Last.Number, b.Turns)
	}
	if err := info.Check(b.Partition); err != nil {
		return err
	}
	return text("run ID", b.Run)
}

func (s *RunState) validate() error {
	if s.Status == "" {
		return fmt.Errorf("the run's state has no status")
	}
	if s.Wake < 0 && !IsInLine(s.Wake) {
		return fmt.Errorf("the run's wake time %d is negative", s.Wake)
	}
	return text("status", string(s.Status))
}

// Validate returns an error if no store would deliver the message.
func (m *Message) Validate(info Info) error {
	if err := info.Check(m.Partition); err != nil {
		return err
	}
	if m.WorkflowID == "" {
		return fmt.Errorf("the message %q is for no workflow ID", m.Key)
	}
	if m.Key == "" {
		return fmt.Errorf("the message for %q has no key: a repeated post could not be told from the first", m.WorkflowID)
	}
	return text("message", m.WorkflowID, m.Run, m.Key, m.Kind)
}

// text returns an error for strings that not every database can keep.
func text(what string, values ...string) error {
	for _, v := range values {
		if !utf8.ValidString(v) {
			return fmt.Errorf("%s: %q is not valid UTF-8", what, v)
		}
		if strings.IndexByte(v, 0) >= 0 {
			return fmt.Errorf("%s: %q contains a NUL character", what, v)
		}
	}
	return nil
}

// NeedsRun reports whether the turn writes anything that belongs to its run.
func (t *Turn) NeedsRun() bool {
	return t.Number > 0 || t.State != nil || t.Create != nil || len(t.Calls)+len(t.Attempts) > 0
}

// CreatesItsRun reports whether the run that the turn creates is its own, and not the next
// of its chain.
func (t *Turn) CreatesItsRun() bool { return t.Create != nil && t.Create.ID == t.Run }

// RunHook calls the turn's hook, if it has one. A store calls it inside its transaction. Every
// error is a *HookError, including that of a panic in the hook.
func (t *Turn) RunHook(tx any) (err error) {
	if t.Hook == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = &HookError{Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	if err := t.Hook(tx); err != nil {
		return &HookError{Err: err}
	}
	return nil
}
