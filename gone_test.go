//go:build !race || databases

package perdure_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// TestE1_AnEngineWhoseFileIsGoneSaysSo: an idle engine notices it, too, and no start is
// acknowledged.
func TestE1_AnEngineWhoseFileIsGoneSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "test.db")
		done := workflow.New("done", func(*workflow.Context, int) (int, error) { return 0, nil })
		eng, err := perdure.Open(t.Context(), sqlite.File(path, sqlite.Exclusive()), perdure.Register(done))
		if err != nil {
			t.Fatal(err)
		}
		if err := eng.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := eng.Health(); err == nil || !strings.Contains(err.Error(), "deleted or replaced") {
			t.Errorf("Health says %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := perdure.Start(ctx, eng, done, "order-1", 1); err == nil || !strings.Contains(err.Error(), "deleted or replaced") || ctx.Err() != nil {
			t.Errorf("a start gets %v, and %v of its time is up", err, ctx.Err())
		}
	})
}
