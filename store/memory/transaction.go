package memory

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/store"
)

// errNoTables refuses methods that need a transaction of SQL tables.
var errNoTables = fmt.Errorf("%w: the memory store keeps no tables, so there is nothing to share a transaction with; use store/sqlite or store/postgres", store.ErrTx)

func (h *handle) Within(any) (store.Transaction, error) { return nil, errNoTables }

func (h *handle) Transact(context.Context, func(tx any) error) error { return errNoTables }
