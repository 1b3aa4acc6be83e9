package seal

import "errors"

// Option is a public option that changes settings of type S.
type Option[S any] interface{ set(*S) }

type option[S any] func(*S)

func (o option[S]) set(s *S) { o(s) }

// With returns the option that changes settings with a function.
func With[S any](change func(*S)) Option[S] { return option[S](change) }

// Apply applies options to s in order. The error is that one of them is nil.
func Apply[S any, O Option[S]](s *S, options []O) (err error) {
	for _, o := range options {
		if Option[S](o) == nil {
			err = errNil
			continue
		}
		o.set(s)
	}
	return err
}

var errNil = errors.New("an option is nil; leave it out")
