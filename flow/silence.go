package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxSilence is how long a request without a timeout waits for its answer, and for more of
// it. A policy with a timeout sets another limit.
const MaxSilence = 5 * time.Minute

var errSilence = fmt.Errorf("there was no answer for %s; [timeout: ...] sets another limit", MaxSilence)

// silence ends a request that nothing more comes of.
type silence struct {
	ctx   context.Context
	stop  context.CancelCauseFunc
	timer *time.Timer // nil: the attempt has a deadline
}

func newSilence(ctx context.Context) *silence {
	s := &silence{}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	if _, bounded := ctx.Deadline(); !bounded {
		s.timer = time.AfterFunc(MaxSilence, func() { s.stop(errSilence) })
	}
	return s
}

func (s *silence) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.stop(nil)
}

// cause returns why a request failed.
func (s *silence) cause(err error) error {
	if err != nil && errors.Is(context.Cause(s.ctx), errSilence) {
		return failed("NetworkError", errSilence)
	}
	return err
}

// over returns a body that ends when nothing more comes of it.
func (s *silence) over(body io.ReadCloser) io.ReadCloser { return &heard{body, s} }

type heard struct {
	io.ReadCloser
	silence *silence
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if n > 0 && h.silence.timer != nil {
		h.silence.timer.Reset(MaxSilence)
	}
	if err != nil && errors.Is(context.Cause(h.silence.ctx), errSilence) {
		err = errSilence
	}
	return n, err
}

func (h *heard) Close() error {
	defer h.silence.end()
	return h.ReadCloser.Close()
}
