package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// llm stands in for the service of a language model. It takes a while, answers 429
// to every ninth request, with the time to come back after, and 503 to every
// seventh. What it calls a summary is the first sentence of each line.
type llm struct {
	takes time.Duration

	mu            sync.Mutex
	requests      int
	running, most int               // requests at the same time
	answers       map[string]string // by key
	charged       int               // words that were paid for
}

func (l *llm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var p Prompt
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	l.requests++
	n := l.requests
	l.running++
	l.most = max(l.most, l.running)
	l.mu.Unlock()
	time.Sleep(l.takes)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	switch {
	case n%9 == 0:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "rate limit exceeded", http.StatusTooManyRequests)
	case n%7 == 0:
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	default:
		_ = json.NewEncoder(w).Encode(l.answer(r.Header.Get("Idempotency-Key"), p))
	}
}

func (l *llm) answer(key string, p Prompt) string {
	if known, again := l.answers[key]; again {
		return known
	}
	var sentences []string
	for line := range strings.Lines(p.Text) {
		if sentence, _, _ := strings.Cut(line, "."); strings.TrimSpace(sentence) != "" {
			sentences = append(sentences, strings.TrimSpace(sentence)+".")
		}
	}
	if l.answers == nil {
		l.answers = map[string]string{}
	}
	l.answers[key] = strings.Join(sentences, " ")
	l.charged += len(strings.Fields(p.Text))
	return l.answers[key]
}
