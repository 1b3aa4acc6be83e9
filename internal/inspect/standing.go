package inspect

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/store"
)

// standingPage is how many rows of gates and schedules one query reads.
const standingPage = 500

// errEnough ends eachStanding without an error.
var errEnough = errors.New("no further rows are wanted")

// eachStanding calls do for the rows of the group's gates or schedules, until do returns an
// error.
func (in *Inspector) eachStanding(ctx context.Context, kind entity.Kind, do func(row *store.Run) error) error {
	filter := store.Filter{Partitions: in.group.All(), Status: []store.Status{store.Standing}, Limit: standingPage}
	for {
		rows, err := in.db.List(ctx, filter)
		if err != nil {
			return err
		}
		for i := range rows {
			if entity.KindOf(rows[i].ID) != kind {
				continue
			}
			switch err := do(&rows[i]); err {
			case nil:
			case errEnough:
				return nil
			default:
				return err
			}
		}
		if len(rows) < filter.Limit {
			return nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}
