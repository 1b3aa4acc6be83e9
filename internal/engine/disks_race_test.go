//go:build race && !databases

package engine_test

import (
	"context"
	"errors"
	"testing"
)

// What races, races in memory: for the detector the drivers of the databases are not even
// compiled. At night they are, by the tag databases.
var files, schemas, sharedFiles func(*testing.T, int) maker

func addEffectOnPostgres(context.Context, any, string, string) error { return errors.ErrUnsupported }

func effectsOnPostgres(context.Context, any, string) ([]string, error) {
	return nil, errors.ErrUnsupported
}
