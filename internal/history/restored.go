package history

import "errors"

// restored is a rebuilt error: text, type name and causes, and a value of its registered
// type if there is one.
type restored struct {
	failure *Failure
	value   error
	causes  []error
}

func (e *restored) Error() string { return e.failure.Message }

// ErrorType returns the original's type name; "" if the original only added text.
func (e *restored) ErrorType() string { return e.failure.Type }

func (e *restored) Unwrap() []error { return e.causes }

// As makes errors.As find the value of the registered type.
func (e *restored) As(target any) bool {
	return e.value != nil && errors.As(e.value, target)
}

// Is makes errors.Is find that value.
func (e *restored) Is(target error) bool {
	return e.value != nil && errors.Is(e.value, target)
}
