package retry

import "github.com/perdure/perdure/internal/errname"

// RegisterError gives a sentinel error, such as io.EOF, a name. Rules can then
// be written for it, and the durable engine gives workflows the identical value
// back, so that errors.Is and == hold after a restart.
//
// Register in an init function or a package variable, in every process that
// may see the error. Like gob.Register it panics on a mistake of the program: a
// nil or incomparable sentinel, a name that is built in or not an identifier
// (letters, digits, "_", "." and "/", not beginning with a digit), a name or a
// sentinel that is registered otherwise already. Registering the same pair
// again does nothing.
func RegisterError(name string, sentinel error) { errname.Register(name, sentinel) }

// RegisterErrorType gives a concrete error type a name; T may be a pointer or a
// value type. Rules can then be written for it, and the durable engine gives
// workflows values of this type back, so that errors.As holds after a restart.
// For that, values travel as JSON. The text, and what Unwrap returns, travel beside
// it and are kept whatever the fields are; so:
//
//   - Fields that are not exported are lost; the text stays even if it was made of
//     them. A type that needs them has its own MarshalJSON and UnmarshalJSON.
//   - A field of type error (or []error) that Unwrap returns has the tag `json:"-"`.
//     If it is the only one of its kind it is filled in again.
//   - T and *T are two types.
//   - A method ErrorType decides what the error is called, in rules and in the
//     ledger; the name given here only says how it is read.
//
// It panics as RegisterError does, for an interface type, and for a type with a
// field that JSON cannot read (an interface with methods, a channel, a function)
// unless it has an UnmarshalJSON of its own.
func RegisterErrorType[T error](name string) { errname.RegisterType[T](name) }
