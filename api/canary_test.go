package api_test

import "testing"

// TestE150_CanaryByRequest sets a canary, shows it and ends it; the same key again does
// nothing, and one of something else is refused.
func TestE150_CanaryByRequest(t *testing.T) {
	c, _ := serve(t, true)
	if got := c.want(200, "GET", "/api/canary", nil).Body; got["canary"] != nil {
		t.Errorf("at first the canary is %v", got)
	}
	c.want(400, "POST", "/api/canary/end", object{})
	for _, b := range []object{{}, {"build": "v2"}, {"percent": 10}, {"build": "v2", "percent": 101}, {"build": "v2", "percent": -1}, {"build": "v2", "percent": "10%"}} {
		c.want(400, "POST", "/api/canary", b)
	}
	set := object{"build": "v2", "percent": 10.5, "why": "new tariffs"}
	first := c.want(200, "POST", "/api/canary", set, "Idempotency-Key", "k").Body
	if first["build"] != "v2" || first["percent"] != 10.5 || first["why"] != "new tariffs" || first["time"] == nil {
		t.Errorf("the canary is %v", first)
	}
	shown, _ := c.want(200, "GET", "/api/canary", nil).Body["canary"].(map[string]any)
	if shown["percent"] != 10.5 {
		t.Errorf("shown is %v", shown)
	}
	c.want(400, "POST", "/api/activities/charge/pause", object{}, "Idempotency-Key", "k")
	if got := c.want(200, "POST", "/api/canary/end", object{}, "Idempotency-Key", "l").Body; got["ended"] != true {
		t.Errorf("the end is %v", got)
	}
	c.want(200, "POST", "/api/canary", set, "Idempotency-Key", "k")
	if got := c.want(200, "GET", "/api/canary", nil).Body; got["canary"] != nil {
		t.Errorf("after its end the canary is %v", got)
	}
}
