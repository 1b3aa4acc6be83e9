package main

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
)

// places is the geocoder: it knows a few cities, and every fifth request gets no
// answer but 503.
type places struct{ requests atomic.Int64 }

var known = map[string]string{
	"Oslo": "59.9 N, 10.8 E", "Lima": "12.0 S, 77.0 W", "Accra": "5.6 N, 0.2 W", "Hanoi": "21.0 N, 105.9 E",
}

func (p *places) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	place, found := known[r.FormValue("city")]
	switch {
	case p.requests.Add(1)%5 == 0:
		http.Error(w, "too busy", http.StatusServiceUnavailable)
	case !found:
		http.Error(w, "no such city", http.StatusNotFound)
	default:
		_ = json.NewEncoder(w).Encode(place)
	}
}
