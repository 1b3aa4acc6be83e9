package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
)

// Entry is an entry of the feed.
type Entry struct {
	Number int
	Title  string
}

// feed has three more entries at each request, up to its length; every
// fourth request gets no answer but 503.
type feed struct {
	length   int
	requests atomic.Int64
}

func (f *feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(f.requests.Add(1))
	if n%4 == 0 {
		http.Error(w, "too busy", http.StatusServiceUnavailable)
		return
	}
	after, err := strconv.Atoi(r.FormValue("after"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	entries := []Entry{}
	for number := after + 1; number <= min(3*n, f.length); number++ {
		entries = append(entries, Entry{number, fmt.Sprint("entry ", number)})
	}
	_ = json.NewEncoder(w).Encode(entries)
}
