package seal

import (
	"fmt"
	"reflect"
)

// TxAs returns a transaction, which the engine knows as an any, as the type that a function
// of users takes, or an error that says what there is. A store without transactions gives
// nil, which only an interface without methods takes.
func TxAs[T any](tx any) (T, error) {
	typed, ok := tx.(T)
	if want := reflect.TypeFor[T](); !ok && (tx != nil || want.NumMethod() > 0 || want.Kind() != reflect.Interface) {
		return typed, mismatch(tx, want)
	}
	return typed, nil
}

// mismatch says that a function takes another kind of transaction than there is.
func mismatch(tx any, want reflect.Type) error {
	if tx == nil {
		return fmt.Errorf("the function takes a %s, but the engine's database keeps no tables: open the engine on one that does, or take a tx of type any, which is nil here", want)
	}
	return fmt.Errorf("the function takes a %s, but the engine's database gives a %T: take that", want, tx)
}
