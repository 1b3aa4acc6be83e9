package lossy_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/lossy"
)

type (
	order struct {
		ID     string
		amount int
		Lines  []line
		Again  *order
		Any    any
		When   time.Time
		_      int
		base
	}
	line struct {
		Price int
		note  string
		Cache map[string]int `json:"-"`
	}
	base  struct{ Country string }
	calls struct {
		Name string
		On   struct{ Done func() }
	}
	message struct{ state int }
)

func (*message) ProtoReflect() {}

// TestE11_WhatJSONLosesIsSeenInTheType: what is left out in silence, and what cannot be read.
func TestE11_WhatJSONLosesIsSeenInTheType(t *testing.T) {
	_ = []any{order{amount: 1}.amount, line{note: ""}.note, message{state: 1}.state}
	for _, c := range []struct {
		of         any
		lost       string
		unreadable string
	}{
		{order{}, "[amount Lines.note Lines.Cache]", ""},
		{[]order{}, "[amount Lines.note Lines.Cache]", ""},
		{map[string]*line{}, "[note Cache]", ""},
		{"text", "[]", ""},
		{time.Time{}, "[]", ""},
		{message{}, "[]", ""},
		{calls{}, "[]", "On.Done func()"},
		{make(chan int), "[]", "(it has none) chan int"},
		{[]fmt.Stringer{}, "[]", "(it has none) fmt.Stringer"},
	} {
		typ := reflect.TypeOf(c.of)
		if got := fmt.Sprint(lossy.Lost(typ)); got != c.lost {
			t.Errorf("%s loses %s, want %s", typ, got, c.lost)
		}
		field, of := lossy.Unreadable(typ)
		got := field
		if of != nil {
			got += " " + of.String()
		}
		if got != c.unreadable {
			t.Errorf("of %s %q cannot be read, want %q", typ, got, c.unreadable)
		}
	}
}
