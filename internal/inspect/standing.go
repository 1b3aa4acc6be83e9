package inspect

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/store"
)

// standingPage is how many rows of gates and schedules one query reads.
const standingPage = 500

// errEnough ends a walk over rows without an error.
var errEnough = errors.New("no further rows are wanted")

// eachStanding calls do for the rows of the group's gates or schedules, until do returns an
// error.
func (in *Inspector) eachStanding(ctx context.Context, kind entity.Kind, do func(row *store.Run) error) error {
	filter := store.Filter{Partitions: in.group.All(), Status: []store.Status{store.Standing}, Limit: standingPage}
	return wanted(in.eachRow(ctx, filter, func(row *store.Run) error {
		if entity.KindOf(row.ID) != kind {
			return nil
		}
		return do(row)
	}))
}

// wanted is the error of a walk over rows, nil if enough of them were read.
func wanted(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// eachRow calls do for the rows that a filter selects, of which it reads Limit at a time, until do
// returns an error.
func (in *Inspector) eachRow(ctx context.Context, filter store.Filter, do func(row *store.Run) error) error {
	for {
		rows, err := in.db.List(ctx, filter)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := do(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < filter.Limit {
			return nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}

// Absent returns the error for a gate or schedule that is not there, with the names that are
// written almost like it. It is store.ErrNotFound, also if those cannot be read.
func (in *Inspector) Absent(ctx context.Context, kind entity.Kind, name, note string) error {
	all := map[string]bool{}
	err := in.eachStanding(ctx, kind, func(row *store.Run) error {
		all[entity.NameOf(row.ID)] = true
		return nil
	})
	if hint := near.Hint(name, maps.Keys(all)); err == nil && hint != "" {
		note = strings.TrimPrefix(note+". "+hint, ". ")
	}
	return &entity.Absent{Kind: kind, Name: name, Note: note}
}
