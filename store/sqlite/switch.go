package sqlite

import (
	"context"

	"github.com/perdure/perdure/store"
)

// switchColumns are the columns that scanSwitch reads.
const switchColumns = `number, node_group, kind, name, off, request, by, why, time, share, lasts`

func (h *handle) Switch(ctx context.Context, s store.Switch) (store.Switch, error) {
	if err := s.Validate(); err != nil {
		return store.Switch{}, err
	}
	log, err := written(ctx, h, "Switch", func(c *conn) ([]store.Switch, error) {
		_, err := c.exec(`INSERT INTO switches (number, node_group, kind, name, off, request, by, why, time, share, lasts)
			SELECT ifnull(max(number), 0) + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM switches WHERE node_group = ?1
			ON CONFLICT (node_group, request) DO NOTHING`,
			s.Group, s.Kind, s.Name, flag(s.Off), s.Request, s.By, s.Why, h.clock(), int64(s.Share), s.Lasts)
		if err != nil {
			return nil, err
		}
		return collect(ctx, c, scanSwitch, `SELECT `+switchColumns+` FROM switches WHERE node_group = ? AND request = ?`, s.Group, s.Request)
	})
	if err != nil {
		return store.Switch{}, err
	}
	announce(h.path, store.NewsSwitches)
	return log[0], nil
}

func (h *handle) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	return result(ctx, h, "Switches", func(c *conn) ([]store.Switch, error) {
		return collect(ctx, c, scanSwitch, `SELECT `+switchColumns+` FROM switches WHERE node_group = ? AND number > ? ORDER BY number`, group, after)
	})
}

func scanSwitch(r row) (s store.Switch) {
	r.scan(&s.Number, &s.Group, &s.Kind, &s.Name, &s.Off, &s.Request, &s.By, &s.Why, &s.Time, &s.Share, &s.Lasts)
	return s
}
