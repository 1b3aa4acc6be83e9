package attempt

import (
	"context"
	"errors"
	"testing"
)

// TestLifetimeIsAnOrdinaryContext: whether something looked before or looks afterwards, the
// cause of an end reaches the attempt's context and those derived from it.
func TestLifetimeIsAnOrdinaryContext(t *testing.T) {
	why, stop := errors.New("why"), errors.New("stop")
	for name, end := range map[string]struct {
		do   func(l *lifetime, runner context.CancelCauseFunc)
		want error
	}{
		"asked to end":       {func(l *lifetime, _ context.CancelCauseFunc) { l.end(why) }, why},
		"asked twice":        {func(l *lifetime, _ context.CancelCauseFunc) { l.end(why); l.end(stop) }, why},
		"ended by itself":    {func(l *lifetime, _ context.CancelCauseFunc) { l.over() }, context.Canceled},
		"asked, then ended":  {func(l *lifetime, _ context.CancelCauseFunc) { l.end(why); l.over() }, why},
		"the runner stops":   {func(_ *lifetime, runner context.CancelCauseFunc) { runner(stop) }, stop},
		"asked, then a stop": {func(l *lifetime, runner context.CancelCauseFunc) { l.end(why); runner(stop) }, why},
	} {
		for _, looked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), t, "value"))
				l := &lifetime{Context: parent}
				var derived context.Context
				if looked {
					if l.Err() != nil || context.Cause(l) != nil || l.cause() != nil {
						t.Fatal("it has ended before it began")
					}
					var free func()
					derived, free = context.WithCancel(l)
					defer free()
				}
				end.do(l, cancel)
				if got := context.Cause(l); got != end.want || l.Err() != context.Canceled {
					t.Errorf("%v with the cause %v, want %v", l.Err(), got, end.want)
				}
				<-l.Done()
				if derived == nil {
					var free func()
					derived, free = context.WithCancel(l)
					defer free()
				}
				<-derived.Done()
				if got := context.Cause(derived); got != end.want {
					t.Errorf("a derived context has the cause %v, want %v", got, end.want)
				}
				if derived.Value(t) != "value" {
					t.Error("the values of the runner's context are lost")
				}
			})
		}
	}
}

// TestLifetimeKnowsItsCauseWithoutALook: the check before a body makes nothing.
func TestLifetimeKnowsItsCauseWithoutALook(t *testing.T) {
	stop := errors.New("stop")
	parent, cancel := context.WithCancelCause(t.Context())
	l := &lifetime{Context: parent}
	if l.cause() != nil {
		t.Error("it has a cause before it ended")
	}
	cancel(stop)
	if l.cause() != stop || l.inner.Load() != nil {
		t.Errorf("the cause is %v, and inner %v", l.cause(), l.inner.Load())
	}
}
