package faulty

import (
	"context"
	"time"

	"github.com/perdure/perdure/store"
)

// Wrap returns an opener whose stores obey the plan.
func Wrap(opener store.Opener, plan *Plan) store.Opener {
	return &wrapped{opener, plan}
}

type wrapped struct {
	opener store.Opener
	plan   *Plan
}

func (w *wrapped) Open(ctx context.Context) (store.Store, error) {
	if _, err := w.plan.begin("Open", reads); err != nil {
		return nil, err
	}
	inner, err := w.opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	w.plan.adopt(inner)
	return &faultyStore{inner, w.plan}, nil
}

type faultyStore struct {
	inner store.Store
	plan  *Plan
}

// write runs a write verb with the faults that are due.
func (s *faultyStore) write(ctx context.Context, op string, do func() error) error {
	return s.perform(ctx, writes, op, do)
}

// perform runs a verb that is counted with the faults that are due.
func (s *faultyStore) perform(ctx context.Context, as count, op string, do func() error) error {
	faults, err := s.plan.begin(op, as)
	if err != nil {
		return err
	}
	var final kind
	for _, f := range faults {
		if f.kind != slow {
			final = f.kind
			continue
		}
		if err := s.sleep(ctx, f.delay); err != nil {
			return err
		}
	}
	switch final {
	case failBefore:
		return unavailable(op, "the test lets it fail", true)
	case crashBefore:
		s.plan.Crash()
		return ErrCrashed
	}
	err = do()
	if final == crashAfter {
		s.plan.Crash()
	}
	if crash := s.plan.end(); crash != nil {
		return crash
	}
	if final == failAfter && err == nil {
		return unavailable(op, "the test loses the answer", false)
	}
	return err
}

// change runs a verb that is counted and answers. An answer that is lost is none.
func change[T any](ctx context.Context, s *faultyStore, as count, op string, do func() (T, error)) (T, error) {
	var answer, none T
	err := s.perform(ctx, as, op, func() (err error) {
		answer, err = do()
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

// sleep waits like a slow database: a crash or the caller can end it.
func (s *faultyStore) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.plan.end()
	case <-s.plan.crashed:
		return ErrCrashed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read runs a verb that changes nothing.
func read[T any](s *faultyStore, op string, do func() (T, error)) (T, error) {
	var none T
	if _, err := s.plan.begin(op, reads); err != nil {
		return none, err
	}
	answer, err := do()
	if crash := s.plan.end(); crash != nil {
		return none, crash
	}
	return answer, err
}

func (s *faultyStore) Info() store.Info { return s.inner.Info() }

// Close closes the store underneath, crashed or not.
func (s *faultyStore) Close() error { return s.inner.Close() }

func (s *faultyStore) Listen(ctx context.Context, notify func(store.News)) error {
	if _, err := s.plan.begin("Listen", reads); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.plan.crashed:
			cancel(ErrCrashed)
		case <-stop:
		}
	}()
	err := s.inner.Listen(ctx, func(news store.News) {
		if _, err := s.plan.begin("Listen", reads); err == nil {
			notify(news)
		}
	})
	if crash := s.plan.end(); crash != nil {
		return crash
	}
	return err
}

// Examine looks at the store inside, if that can be; no fault is planned for it.
func (s *faultyStore) Examine(ctx context.Context) ([]store.Symptom, error) {
	if inner, ok := s.inner.(store.Examiner); ok {
		return inner.Examine(ctx)
	}
	return nil, nil
}
