package codec

import (
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

// These verbs carry no documents, and say of the codecs what the store inside does not know.

// Info implements store.Store.
func (s *coded) Info() store.Info {
	info := s.Store.Info()
	info.Private = info.Private || s.private()
	return info
}

// Examine implements store.Examiner, as far as the store inside does.
func (s *coded) Examine(ctx context.Context) ([]store.Symptom, error) {
	if inner, is := s.Store.(store.Examiner); is {
		return inner.Examine(ctx)
	}
	return nil, nil
}

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
	return s.Store.Join(ctx, node)
}

// Group implements store.Client.
func (s *coded) Group(ctx context.Context, name string) (store.Group, error) {
	g, err := s.Store.Group(ctx, name)
	if err != nil {
		return g, err
	}
	var names []string
	for _, c := range s.codecs {
		names = append(names, c.Name())
	}
	return g.Decoded(s.Store.Info().Location, names)
}
