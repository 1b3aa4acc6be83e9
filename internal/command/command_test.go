package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/view"
)

// TestF30_TheTableIsWhole: each row says what it is and means in sentences, is found by its name,
// and needs nothing that a form cannot ask for or a stand-in cannot replace.
func TestF30_TheTableIsWhole(t *testing.T) {
	paths := map[string]string{}
	for i := range All {
		c := &All[i]
		if Find(c.On, c.Name) != c {
			t.Errorf("%s of a %s is there twice", c.Name, c.On)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || !strings.HasSuffix(c.Means, ".") {
			t.Errorf("%s of a %s: %q, %q", c.Name, c.On, c.Short, c.Means)
		}
		if c.Bulk() {
			params := c.New()
			c.StandIn(params)
			if err := param.Complete(params); err != nil {
				t.Errorf("%s of a %s has no stand-in: %v", c.Name, c.On, err)
			}
			continue
		}
		method, path := c.Path()
		if other := paths[method+path]; other != "" {
			t.Errorf("%s and %s have one address", other, c.Name)
		}
		paths[method+path] = c.Name
	}
	if len(All) < 25 {
		t.Errorf("the table has %d rows", len(All))
	}
}

// TestR45_AnEditByItsParts: what is zero takes its part away, what belongs to a part needs it, and
// what is out of bounds is named once for all faces.
func TestR45_AnEditByItsParts(t *testing.T) {
	c := Find(Gate, "edit")
	for text, want := range map[string]string{
		"limit=0": "the limit is 0", "burst=3": "the rate is missing", "cost=2": "the tokens are missing", "cooldown=5m": "the failures are missing",
		"failures=2": "the cooldown is missing", "rate=1e12": "the rate is 1e+12; allowed is", "without=limit": `the without is "limit"`, "limit=x": `the limit is "x"`,
		"limit=4": "", "rate=0": "", "failures=0": "",
	} {
		flag, value, _ := strings.Cut(text, "=")
		p := c.New().(*gateEdit)
		err := param.Find(c.Params, flag).Set(p, value)
		if err == nil {
			err = p.settle(&gateNow)
		}
		if got := ""; err != nil {
			w, ok := errors.AsType[*param.Wrong](err)
			if got = err.Error(); !ok || want == "" || !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s (%+v)", text, got, w)
			}
		} else if want != "" {
			t.Errorf("%s is accepted: %+v", text, p.GateEdit)
		}
	}
	p := c.New().(*gateEdit)
	if err := errors.Join(param.Find(c.Params, "rate").Set(p, "0"), p.settle(&gateNow)); err != nil || p.Rate == nil || p.Rate.PerSecond != 0 {
		t.Errorf("a rate of zero is %+v, %v", p.GateEdit, err)
	}
}

var gateNow = view.Gate{Name: "till", Spec: gate.Spec{Name: "till", Limit: 2}}
