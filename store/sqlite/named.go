package sqlite

import (
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/store"
)

func init() {
	store.Register("sqlite", func(name string) (store.Opener, error) {
		path, err := dbname.File(name)
		if err != nil {
			return nil, err
		}
		return File(path), nil
	})
}
