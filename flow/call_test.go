package flow_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/retry"
)

// TestW8_GoCallsSayWhatBracketsSay holds the options of Call to the brackets that
// they stand for.
func TestW8_GoCallsSayWhatBracketsSay(t *testing.T) {
	for _, c := range []struct {
		options  []flow.CallOption
		brackets string // empty: the action runs once
	}{
		{nil, ""},
		{[]flow.CallOption{flow.Attempts(3), flow.Exceptions("NetworkError"), flow.BackoffSeconds(60)}, "[NetworkError -> retry: 2, backoff: 60]"},
		{[]flow.CallOption{flow.Attempts(1)}, "[retry: 0]"},
		{[]flow.CallOption{flow.BackoffSeconds(0.5)}, "[retry: 100, backoff: 500ms]"},
		{[]flow.CallOption{flow.BackoffSeconds(0.1), flow.Attempts(2)}, "[retry: 1, backoff: 100ms]"},
		{[]flow.CallOption{flow.BackoffSeconds(0), flow.Attempts(2)}, "[retry: 1]"},
		{[]flow.CallOption{flow.Timeout(2 * time.Minute)}, "[timeout: 2m]"},
		{[]flow.CallOption{flow.Timeout(500 * time.Microsecond), flow.Attempts(4)}, "[retry: 3] [timeout: 500us]"},
		{[]flow.CallOption{flow.Exceptions("ValueError", "KeyError"), flow.Attempts(4), flow.BackoffSeconds(30)}, "[(ValueError, KeyError) -> retry: 3, backoff: 30s]"},
	} {
		got, err := flow.CallPolicy(c.options...)
		if err != nil {
			t.Errorf("%s: %v", c.brackets, err)
			continue
		}
		want := retry.Never
		if c.brackets != "" {
			if want, err = retry.Parse(c.brackets); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %s", c.brackets, got)
		}
	}
}

// TestW8_GoCallsRefuseWhatCannotBeResolved: nothing is left out silently.
func TestW8_GoCallsRefuseWhatCannotBeResolved(t *testing.T) {
	for want, options := range map[string][]flow.CallOption{
		"flow.Attempts is 0":            {flow.Attempts(0)},
		"flow.Attempts is -3":           {flow.Attempts(-3)},
		"flow.BackoffSeconds is NaN":    {flow.BackoffSeconds(math.NaN())},
		"flow.BackoffSeconds is +Inf":   {flow.BackoffSeconds(math.Inf(1))},
		"flow.BackoffSeconds is -1":     {flow.BackoffSeconds(-1)},
		"flow.BackoffSeconds is 1e-12":  {flow.BackoffSeconds(1e-12)},
		"flow.BackoffSeconds is 1e+300": {flow.BackoffSeconds(1e300)},
		"flow.Timeout is 0s":            {flow.Timeout(0)},
		"flow.Timeout is -1s":           {flow.Timeout(-time.Second)},
		"names no error type":           {flow.Exceptions()},
		"allowed is a type name":        {flow.Exceptions("")},
		"is never retried":              {flow.Exceptions("Canceled")},
	} {
		if _, err := flow.CallPolicy(options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := flow.CallPolicy(flow.Attempts(0), flow.Timeout(0)); err == nil || strings.Count(err.Error(), "flow.") != 2 {
		t.Errorf("%v does not name both", err)
	}
}
