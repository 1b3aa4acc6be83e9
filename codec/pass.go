package codec

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

// These verbs carry no documents.

// Info implements store.Store.
func (s *coded) Info() store.Info {
	info := s.db.Info()
	info.Private = info.Private || s.private()
	return info
}

// Listen implements store.Store.
func (s *coded) Listen(ctx context.Context, notify func(store.News)) error {
	return s.db.Listen(ctx, notify)
}

// Examine implements store.Examiner, as far as the store inside does.
func (s *coded) Examine(ctx context.Context) ([]store.Symptom, error) {
	if inner, is := s.db.(store.Examiner); is {
		return inner.Examine(ctx)
	}
	return nil, nil
}

// Close implements store.Store.
func (s *coded) Close() error { return s.db.Close() }

// Join implements store.Owner. It marks the database with the codecs that encode, so that a
// node without them is refused.
func (s *coded) Join(ctx context.Context, node store.Node) error {
	node.Codecs, node.Encodes = slices.Clone(node.Codecs), slices.Clone(node.Encodes)
	for _, c := range s.codecs {
		node.Codecs = append(node.Codecs, c.Name())
		if _, only := c.(reading); !only {
			node.Encodes = append(node.Encodes, c.Name())
		}
	}
	return s.db.Join(ctx, node)
}

// Renew implements store.Owner.
func (s *coded) Renew(ctx context.Context, renewal store.Renewal) (*store.Membership, error) {
	return s.db.Renew(ctx, renewal)
}

// Leave implements store.Owner.
func (s *coded) Leave(ctx context.Context, node string) error { return s.db.Leave(ctx, node) }

// Claim implements store.Owner.
func (s *coded) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	return s.db.Claim(ctx, node, partitions)
}

// Release implements store.Owner.
func (s *coded) Release(ctx context.Context, node string, partitions []int) error {
	return s.db.Release(ctx, node, partitions)
}

// Dissolve implements store.Owner.
func (s *coded) Dissolve(ctx context.Context, partition int, epoch int64, ward int) (bool, error) {
	return s.db.Dissolve(ctx, partition, epoch, ward)
}

// Due implements store.Owner.
func (s *coded) Line(ctx context.Context, read store.LineRead) ([]store.LineRun, error) {
	return s.db.Line(ctx, read)
}

func (s *coded) Due(ctx context.Context, partitions []int, after, until int64, limit int) ([]store.Wake, error) {
	return s.db.Due(ctx, partitions, after, until, limit)
}

// Group implements store.Client.
func (s *coded) Group(ctx context.Context, name string) (store.Group, error) {
	g, err := s.db.Group(ctx, name)
	if err != nil {
		return g, err
	}
	var names []string
	for _, c := range s.codecs {
		names = append(names, c.Name())
	}
	return g.Decoded(s.db.Info().Location, names)
}

// Secret implements store.Client.
func (s *coded) Secret(ctx context.Context) ([]byte, error) { return s.db.Secret(ctx) }

// Delete implements store.Client.
func (s *coded) Delete(ctx context.Context, d store.Deletion) (int, error) {
	return s.db.Delete(ctx, d)
}

// Transact implements store.Client.
func (s *coded) Transact(ctx context.Context, f func(tx any) error) error {
	return s.db.Transact(ctx, f)
}

// Tallies implements store.Reader.
func (s *coded) Tallies(ctx context.Context, filter store.TallyFilter) ([]store.Tally, error) {
	return s.db.Tallies(ctx, filter)
}

// Owners implements store.Reader.
func (s *coded) Owners(ctx context.Context, partition int) ([]store.Ownership, error) {
	return s.db.Owners(ctx, partition)
}

// Nodes implements store.Reader.
func (s *coded) Nodes(ctx context.Context) ([]store.Member, error) { return s.db.Nodes(ctx) }

// Floor implements store.Reader.
func (s *coded) Floor(ctx context.Context, partitions []int, before string, each int) (string, error) {
	return s.db.Floor(ctx, partitions, before, each)
}

// Counts implements store.Reader.
func (s *coded) Counts(ctx context.Context, partitions []int, most int) (store.Counts, error) {
	return s.db.Counts(ctx, partitions, most)
}

// Sealed implements store.Copies.
func (s *coded) Sealed(ctx context.Context) (store.Seal, error) { return s.db.Sealed(ctx) }

// Seal implements store.Copies. The rows of a copy are as they are stored.
func (s *coded) Seal(ctx context.Context, before, after store.Seal, rows *store.Rows) error {
	return s.db.Seal(ctx, before, after, rows)
}

// Export implements store.Copies.
func (s *coded) Export(ctx context.Context, after store.Cursor, limit int) (*store.Rows, error) {
	return s.db.Export(ctx, after, limit)
}
