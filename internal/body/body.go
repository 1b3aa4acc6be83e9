package body

import (
	"context"
	"reflect"

	"github.com/perdure/perdure/internal/seal"
)

// Activity is an activity.Activity with any type parameters.
type Activity interface {
	seal.Declares[Declared]
	Name() string
}

// Definition is the part of an activity.Activity that engines read.
type Definition = seal.Definition[Declared]

// Declared holds what a declaration says.
type Declared struct {
	Name    string
	Options Options
	// Invoke runs the body on an input that decode fills in; nil without a body.
	Invoke func(ctx context.Context, decode func(into any) error) (any, error)
	Input  reflect.Type
}

// Define returns the definition of a declaration.
func Define(d Declared) Definition { return seal.Define(d) }

// NameOf returns the name of a declaration.
func NameOf(d Definition) string { return seal.Of[Declared](d).Name }

// Of returns what the declaration of an activity says. It must not be modified.
func Of(a Activity) *Declared { return seal.Of[Declared](a) }
