package seal

// Hidden is embedded by public types and holds a T. The zero value holds the zero T.
type Hidden[T any] struct{ t *T }

// Hide returns the hidden form of a value.
func Hide[T any](t T) Hidden[T] { return Hidden[T]{&t} }

func (Hidden[T]) sealed() {}

func (h Hidden[T]) hidden() *T {
	if h.t == nil {
		return new(T)
	}
	return h.t
}

// Sealed is implemented by types that embed a Hidden of any type, and by no others.
type Sealed interface{ sealed() }

// Holder is implemented by types that embed a Hidden of T.
type Holder[T any] interface {
	Sealed
	hidden() *T
}

// Of returns what a public type hides. It must not be modified.
func Of[T any](h Holder[T]) *T { return h.hidden() }
