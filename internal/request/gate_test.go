package request

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/internal/entity"
)

// TestE104_AResumeOfNoGateSaysSo: as a pause does, in words about gates and not about runs.
func TestE104_AResumeOfNoGateSaysSo(t *testing.T) {
	both(t, func(a *asker) {
		for _, paused := range []bool{true, false} {
			var absent *entity.Absent
			if err := a.PauseGate(a.ctx, "door", paused, By{}); !errors.As(err, &absent) || absent.Name != "door" || absent.Note == "" {
				a.Errorf("a gate that is not there is paused %v: %v", paused, err)
			}
		}
	})
}
