package postgres

import (
	"context"

	"github.com/perdure/perdure/store"
)

// switchColumns are the columns of switchFields.
const switchColumns = `number, node_group, kind, name, off, request, by, why, time, share, lasts`

func switchFields(s *store.Switch) []any {
	return []any{&s.Number, &s.Group, &s.Kind, &s.Name, &s.Off, &s.Request, &s.By, &s.Why, &s.Time, &s.Share, &s.Lasts}
}

func (h *handle) Switch(ctx context.Context, s store.Switch) (store.Switch, error) {
	if err := s.Validate(); err != nil {
		return store.Switch{}, err
	}
	written, err := shared(ctx, h, "Switch", func(c *conn) (written []store.Switch, err error) {
		err = c.transaction(ctx, func(b *batch) { b.addSwitch(s, &written) }, func(b *batch) { b.notify(store.NewsSwitches) })
		return written, err
	})
	if err != nil {
		return store.Switch{}, err
	}
	return written[0], nil
}

// addSwitch writes a switch unless its request was written before. Switches are written one
// at a time, so that readers who continue after a number miss none.
func (b *batch) addSwitch(s store.Switch, written *[]store.Switch) {
	b.do(`LOCK TABLE perdure.switches IN SHARE ROW EXCLUSIVE MODE`)
	b.do(`INSERT INTO perdure.switches (number, node_group, kind, name, off, request, by, why, time, share, lasts)
		SELECT coalesce(max(number), 0) + 1, $1, $2, $3, $4, $5, $6, $7, perdure.now(), $8, $9 FROM perdure.switches WHERE node_group = $1
		ON CONFLICT (node_group, request) DO NOTHING`, s.Group, s.Kind, s.Name, s.Off, s.Request, s.By, s.Why, s.Share, s.Lasts)
	b.do(`SELECT nextval('perdure.changes')`)
	b.query(`SELECT `+switchColumns+` FROM perdure.switches WHERE node_group = $1 AND request = $2`, []any{s.Group, s.Request}, into(written, switchFields))
}

func (h *handle) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	return readRows(ctx, h, "Switches", `SELECT `+switchColumns+` FROM perdure.switches WHERE node_group = $1 AND number > $2 ORDER BY number`, []any{group, after}, switchFields)
}
