package workflow

import (
	"time"

	"github.com/perdure/perdure/intercept"
)

// Timer is a durable timer.
type Timer struct{ *pending }

// Wait waits until the timer fires. The error is that the timer was canceled.
func (t Timer) Wait(wf *Context) error {
	_, err := Future[struct{}](t).Get(wf)
	return err
}

// NewTimer starts a durable timer that fires after d. After a restart it fires when it is
// due, or as soon as the engine runs again if that is later.
func NewTimer(wf *Context, d time.Duration) Timer {
	wf.enter()
	return Timer{wf.timer("timer", d)}
}

func (wf *Context) timer(name string, d time.Duration) *pending {
	if wf.over() {
		return refuse(name, wf.scope.aborted(name))
	}
	wf.instance.intercept(intercept.Timer, name)
	return wf.follow(wf.instance.run.StartTimer(name, d))
}

// Sleep waits for d, durably. If d is zero or less, it returns immediately and makes no
// timer. The error is that the scope was canceled.
func Sleep(wf *Context, d time.Duration) error {
	wf.enter()
	switch {
	case d > 0:
		return Timer{wf.timer("sleep", d)}.Wait(wf)
	case wf.over():
		return wf.scope.aborted("sleep")
	}
	return nil
}
