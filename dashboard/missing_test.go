package dashboard

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/store/memory"
)

// TestF43_WhatIsNotThere: the page about a gate, schedule or run that is not there is said
// to be about that, and where to look for it.
func TestF43_WhatIsNotThere(t *testing.T) {
	srv, _ := servedBy(t, memory.New())
	for address, want := range map[string]string{
		"/gate?name=g":        "see the page of gates",
		"/schedule?name=s":    "see the page of schedules",
		"/run?id=r":           "Search for it in the list of runs",
		"/runs?before=monday": "is not a run ID",
	} {
		resp, err := srv.Client().Get(srv.URL + "/shop" + address)
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, resp); !strings.Contains(got, want) {
			t.Errorf("%s: %d\n%s", address, resp.StatusCode, got)
		}
	}
}
