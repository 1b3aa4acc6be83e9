package seal

// Definition is embedded by workflow.Workflow and activity.Activity. It holds what engines
// read of a declaration, a D. The zero value holds the zero D.
type Definition[D any] struct{ d *D }

// Define returns the definition of a declaration.
func Define[D any](d D) Definition[D] { return Definition[D]{&d} }

func (Definition[D]) sealed() {}

func (d Definition[D]) declared() *D {
	if d.d == nil {
		return new(D)
	}
	return d.d
}

// Sealed is implemented by types that embed a Definition.
type Sealed interface{ sealed() }

// Declares is implemented by types that embed a Definition of D.
type Declares[D any] interface {
	Sealed
	declared() *D
}

// Of returns what a declaration says. It must not be modified.
func Of[D any](d Declares[D]) *D { return d.declared() }
