package seal

import (
	"fmt"
	"reflect"
)

// OtherTxError says that a function takes another type of transaction than the database
// gives: a fault of the program, which another build mends, and not of the attempt.
type OtherTxError struct{ text string }

func (e *OtherTxError) Error() string { return e.text }

// TxAs returns a transaction, which the engine knows as an any, as the type that a function
// of users takes, or an *OtherTxError. A store may give
// a transaction with a method As, which sets a variable of another type. A store without
// transactions gives nil, which only an interface without methods takes.
func TxAs[T any](tx any) (T, error) {
	typed, ok := tx.(T)
	if ok {
		return typed, nil
	}
	if other, is := tx.(interface{ As(target any) bool }); is && other.As(&typed) {
		return typed, nil
	}
	if want := reflect.TypeFor[T](); tx != nil || want.NumMethod() > 0 || want.Kind() != reflect.Interface {
		return typed, &OtherTxError{mismatch(tx, want)}
	}
	return typed, nil
}

// mismatch says that a function takes another type of transaction than there is.
func mismatch(tx any, want reflect.Type) string {
	if tx == nil {
		return fmt.Sprintf("the function takes a %s, but the engine's database keeps no tables: open the engine on one that does, or take a tx of type any, which is nil here", want)
	}
	return fmt.Sprintf("the function takes a %s, which the engine's database does not give: take a *sql.Tx, with parameters $1, $2 and so on, which works on SQLite and PostgreSQL", want)
}
