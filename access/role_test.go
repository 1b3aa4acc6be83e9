package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/access"
)

// TestF8_WhatEachRoleMay: each role against each that may be needed.
func TestF8_WhatEachRoleMay(t *testing.T) {
	some := access.Starter.Only("checkout", "refund")
	for role, may := range map[access.Role][]access.Role{
		access.Viewer:                     {access.Viewer},
		access.Operator:                   {access.Viewer, access.Operator, access.Starter, access.Worker, some, access.Starter.Only("refund"), access.Worker.Only("gpu")},
		access.Starter:                    {access.Starter, some, access.Starter.Only("refund")},
		some:                              {access.Starter, some, access.Starter.Only("refund")},
		access.Starter.Only("refund"):     {access.Starter, access.Starter.Only("refund")},
		access.Worker:                     {access.Worker, access.Worker.Only("gpu")},
		access.Worker.Only("gpu"):         {access.Worker, access.Worker.Only("gpu")},
		"":                                nil,
		"admin":                           nil,
		"operator:checkout":               nil,
		"viewer:checkout":                 nil,
		"starter:":                        nil,
		"starter:refund,":                 nil,
		"starter:%":                       nil,
		access.Starter + " ":              nil,
		access.Worker.Only():              nil,
		access.Starter.Only("re", "fund"): {access.Starter},
	} {
		if !role.May("") {
			t.Errorf("%q may not what needs no role", string(role))
		}
		for _, needed := range []access.Role{
			access.Viewer, access.Operator, access.Starter, access.Worker, some, access.Starter.Only("refund"), access.Worker.Only("gpu"),
		} {
			if got, want := role.May(needed), slices.Contains(may, needed); got != want {
				t.Errorf("%q where %q is needed: %v, want %v", string(role), string(needed), got, want)
			}
		}
	}
}

// TestF8_NamesOfARole: any name can be one to which a role is limited, in a file of tokens too.
func TestF8_NamesOfARole(t *testing.T) {
	names := []string{"checkout", "ship, later", "50% off", "a:b", "\u00fcber", "x/y", "a+b"}
	role := access.Starter.Only(names...)
	if got := role.Names(); !slices.Equal(got, names) || role.Kind() != access.Starter {
		t.Errorf("%q is limited to %q", string(role), got)
	}
	tokens, err := access.ReadTokens(strings.NewReader("shop " + string(role) + " a-secret-of-twenty-bytes\n"))
	if err != nil || len(tokens) != 1 || tokens[0].Role != role {
		t.Errorf("read from a file: %+v, %v", tokens, err)
	}
	if tokens, err := access.ReadTokens(strings.NewReader("shop starter:\u00fcber,a:b a-secret-of-twenty-bytes\n")); err != nil || !tokens[0].Role.May(access.Starter.Only("\u00fcber", "a:b")) {
		t.Errorf("names without escapes: %+v, %v", tokens, err)
	}
	if access.Viewer.Names() != nil || access.Worker.Names() != nil {
		t.Error("a role without limits has names")
	}
}
