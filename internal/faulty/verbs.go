package faulty

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/store"
)

func (s *faultyStore) Join(ctx context.Context, node store.Node) error {
	return s.write(ctx, "Join", func() error { return s.inner.Join(ctx, node) })
}

func (s *faultyStore) Renew(ctx context.Context, renewal store.Renewal) (*store.Membership, error) {
	return change(ctx, s, renewals, "Renew", func() (*store.Membership, error) { return s.inner.Renew(ctx, renewal) })
}

func (s *faultyStore) Leave(ctx context.Context, node string) error {
	return s.write(ctx, "Leave", func() error { return s.inner.Leave(ctx, node) })
}

func (s *faultyStore) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	return change(ctx, s, writes, "Claim", func() ([]store.Ownership, error) { return s.inner.Claim(ctx, node, partitions) })
}

func (s *faultyStore) Move(ctx context.Context, move store.Move) error {
	return s.write(ctx, "Move", func() error { return s.inner.Move(ctx, move) })
}

func (s *faultyStore) Dissolve(ctx context.Context, partition int, epoch int64, ward int) (gone bool, err error) {
	return change(ctx, s, writes, "Dissolve", func() (bool, error) { return s.inner.Dissolve(ctx, partition, epoch, ward) })
}

func (s *faultyStore) Release(ctx context.Context, node string, partitions []int) error {
	return s.write(ctx, "Release", func() error { return s.inner.Release(ctx, node, partitions) })
}

func (s *faultyStore) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	return change(ctx, s, writes, fmt.Sprintf("Commit of %d turns", len(turns)), func() (store.Result, error) { return s.inner.Commit(ctx, turns) })
}

func (s *faultyStore) Group(ctx context.Context, name string) (store.Group, error) {
	if name == "" { // it is always there
		return read(s, "Group", func() (store.Group, error) { return s.inner.Group(ctx, name) })
	}
	return change(ctx, s, writes, "Group", func() (store.Group, error) { return s.inner.Group(ctx, name) })
}

func (s *faultyStore) Secret(ctx context.Context) ([]byte, error) {
	return read(s, "Secret", func() ([]byte, error) { return s.inner.Secret(ctx) })
}

func (s *faultyStore) Create(ctx context.Context, run store.Run) error {
	return s.write(ctx, "Create", func() error { return s.inner.Create(ctx, run) })
}

func (s *faultyStore) Post(ctx context.Context, message store.Message) error {
	return s.write(ctx, "Post", func() error { return s.inner.Post(ctx, message) })
}

func (s *faultyStore) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return change(ctx, s, writes, "Take", func() ([]store.Message, error) { return s.inner.Take(ctx, partition, workflowID) })
}

func (s *faultyStore) Switch(ctx context.Context, w store.Switch) (store.Switch, error) {
	return change(ctx, s, writes, "Switch", func() (store.Switch, error) { return s.inner.Switch(ctx, w) })
}

func (s *faultyStore) Delete(ctx context.Context, d store.Deletion) (int, error) {
	return change(ctx, s, writes, "Delete", func() (int, error) { return s.inner.Delete(ctx, d) })
}

// Within counts what is done inside a transaction that is not the store's: a fault
// there is one of the transaction.
func (s *faultyStore) Within(tx any) (store.Transaction, error) {
	inner, err := s.inner.Within(tx)
	if err != nil {
		return nil, err
	}
	return &faultyTransaction{inner, s}, nil
}

func (s *faultyStore) Transact(ctx context.Context, f func(tx any) error) error {
	return s.write(ctx, "Transact", func() error { return s.inner.Transact(ctx, f) })
}

type faultyTransaction struct {
	inner store.Transaction
	s     *faultyStore
}

func (t *faultyTransaction) Create(ctx context.Context, run store.Run) error {
	return t.s.write(ctx, "Create within a transaction", func() error { return t.inner.Create(ctx, run) })
}

func (t *faultyTransaction) Post(ctx context.Context, message store.Message) error {
	return t.s.write(ctx, "Post within a transaction", func() error { return t.inner.Post(ctx, message) })
}

func (t *faultyTransaction) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	return read(t.s, "Find", func() (*store.Run, error) { return t.inner.Find(ctx, partition, workflowID, run) })
}

func (s *faultyStore) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	return read(s, "Switches", func() ([]store.Switch, error) { return s.inner.Switches(ctx, group, after) })
}

func (s *faultyStore) Line(ctx context.Context, l store.LineRead) ([]store.LineRun, error) {
	return read(s, "Line", func() ([]store.LineRun, error) { return s.inner.Line(ctx, l) })
}

func (s *faultyStore) Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]store.Wake, error) {
	return read(s, "Due", func() ([]store.Wake, error) { return s.inner.Due(ctx, partitions, after, until, limit) })
}

func (s *faultyStore) Inbox(ctx context.Context, partitions []int, in store.InboxRead) ([]store.Message, error) {
	return read(s, "Inbox", func() ([]store.Message, error) { return s.inner.Inbox(ctx, partitions, in) })
}

func (s *faultyStore) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return read(s, "Posted", func() ([]store.Message, error) { return s.inner.Posted(ctx, partition, workflowID) })
}

func (s *faultyStore) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	return read(s, "Load", func() (*store.Record, error) { return s.inner.Load(ctx, partition, run) })
}

func (s *faultyStore) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	return read(s, "Find", func() (*store.Run, error) { return s.inner.Find(ctx, partition, workflowID, run) })
}

func (s *faultyStore) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	return read(s, "List", func() ([]store.Run, error) { return s.inner.List(ctx, filter) })
}

func (s *faultyStore) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	return read(s, "History", func() ([]store.TurnRow, error) { return s.inner.History(ctx, partition, run, after, limit) })
}

func (s *faultyStore) Ended(ctx context.Context, runs []store.RunRef) ([]store.Run, error) {
	return read(s, "Ended", func() ([]store.Run, error) { return s.inner.Ended(ctx, runs) })
}

func (s *faultyStore) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	return read(s, "Calls", func() ([]store.Call, error) { return s.inner.Calls(ctx, partition, run) })
}

func (s *faultyStore) Waiting(ctx context.Context, filter store.CallFilter) ([]store.WaitingCall, error) {
	return read(s, "Waiting", func() ([]store.WaitingCall, error) { return s.inner.Waiting(ctx, filter) })
}

func (s *faultyStore) Attempts(ctx context.Context, partition int, run string, part store.AttemptRange) ([]store.Attempt, error) {
	return read(s, "Attempts", func() ([]store.Attempt, error) { return s.inner.Attempts(ctx, partition, run, part) })
}

func (s *faultyStore) Ledger(ctx context.Context, filter store.LedgerFilter) ([]store.LedgerEntry, error) {
	return read(s, "Ledger", func() ([]store.LedgerEntry, error) { return s.inner.Ledger(ctx, filter) })
}

func (s *faultyStore) Errors(ctx context.Context, filter store.LedgerFilter) ([]store.ErrorGroup, error) {
	return read(s, "Errors", func() ([]store.ErrorGroup, error) { return s.inner.Errors(ctx, filter) })
}

func (s *faultyStore) Tallies(ctx context.Context, filter store.TallyFilter) ([]store.Tally, error) {
	return read(s, "Tallies", func() ([]store.Tally, error) { return s.inner.Tallies(ctx, filter) })
}

func (s *faultyStore) Owners(ctx context.Context, partition int) ([]store.Ownership, error) {
	return read(s, "Owners", func() ([]store.Ownership, error) { return s.inner.Owners(ctx, partition) })
}

func (s *faultyStore) Nodes(ctx context.Context) ([]store.Member, error) {
	return read(s, "Nodes", func() ([]store.Member, error) { return s.inner.Nodes(ctx) })
}

func (s *faultyStore) Floor(ctx context.Context, partitions []int, before string, each int) (string, error) {
	return read(s, "Floor", func() (string, error) { return s.inner.Floor(ctx, partitions, before, each) })
}

func (s *faultyStore) Counts(ctx context.Context, partitions []int, most int) (store.Counts, error) {
	return read(s, "Counts", func() (store.Counts, error) { return s.inner.Counts(ctx, partitions, most) })
}

func (s *faultyStore) Sealed(ctx context.Context) (store.Seal, error) {
	return read(s, "Sealed", func() (store.Seal, error) { return s.inner.Sealed(ctx) })
}

func (s *faultyStore) Seal(ctx context.Context, before, after store.Seal, rows *store.Rows) error {
	return s.write(ctx, "Seal", func() error { return s.inner.Seal(ctx, before, after, rows) })
}

func (s *faultyStore) Export(ctx context.Context, after store.Cursor, limit int) (*store.Rows, error) {
	return read(s, "Export", func() (*store.Rows, error) { return s.inner.Export(ctx, after, limit) })
}
