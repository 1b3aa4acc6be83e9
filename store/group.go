package store

import (
	"encoding/json"
	"errors"
)

// Group is a set of nodes that serve the same definitions, with the partitions of their runs:
// First to First+Partitions-1.
type Group struct {
	Name       string
	First      int
	Partitions int

	// Codecs is the mark of the database (see Node.Mark) when the group was read: the codecs
	// with which it is written. A store that decodes some of them removes these.
	Codecs string
}

// All returns the partitions of the group.
func (g Group) All() []int {
	all := make([]int, g.Partitions)
	for i := range all {
		all[i] = g.First + i
	}
	return all
}

// Has reports whether the partition belongs to the group.
func (g Group) Has(partition int) bool {
	return g.First <= partition && partition < g.First+g.Partitions
}

// Lacks returns a *CodecError about the codecs in g.Codecs, nil if there are none.
func (g Group) Lacks(location string) error {
	_, err := (&Node{}).Mark(location, g.Codecs)
	return err
}

// Decoded returns the group without the codecs that a store decodes.
func (g Group) Decoded(location string, codecs []string) (Group, error) {
	_, err := (&Node{Codecs: codecs}).Mark(location, g.Codecs)
	g.Codecs = ""
	if lacks, is := errors.AsType[*CodecError](err); is {
		mark, err := json.Marshal(lacks.Missing)
		g.Codecs = string(mark)
		return g, err
	}
	return g, err
}
