package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// services are the shop's services, unreliable as services are: every third request
// gets no answer but 503. They recognise a repeated request by its key.
type services struct {
	mu       sync.Mutex
	requests int
	done     map[string]string // what was made, by key
	book     []string          // what was done, in order
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	what := strings.TrimPrefix(r.URL.Path, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests++; s.requests%3 == 0 {
		http.Error(w, "too busy", http.StatusServiceUnavailable)
		return
	}
	if what == "ship" && bytes.Contains(body, []byte("Atlantis")) {
		http.Error(w, "we do not ship to Atlantis", http.StatusUnprocessableEntity)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	id, again := s.done[key]
	if !again {
		if s.done == nil {
			s.done = map[string]string{}
		}
		id = fmt.Sprintf("%s-%d", what, len(s.book)+1)
		s.done[key] = id
		s.book = append(s.book, fmt.Sprintf("%s %s", what, body))
		fmt.Println(s.book[len(s.book)-1])
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"id": id})
}
