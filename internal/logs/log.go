package logs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A burst is more than burstSize records of an event in burstTime.
const (
	burstSize = 20
	burstTime = 10 * time.Second
)

// Log writes events. It is safe for concurrent use.
type Log struct {
	logger  *slog.Logger
	private bool

	mu     sync.Mutex
	bursts map[*Event]*burst
	closed bool
}

// burst counts the records of an event since its timer started.
type burst struct {
	written, left int
	timer         *time.Timer
}

// New returns a Log that writes to logger. A private Log leaves out the texts of user errors
// and of people.
func New(logger *slog.Logger, private bool) *Log {
	return &Log{logger: logger, private: private, bursts: map[*Event]*burst{}}
}

// leftOut replaces such texts in a private log.
const leftOut = "(not logged: the database is encrypted; type: perdure show)"

// words reports whether a value of an event is the text of a user's error or of a person.
// Errors of perdure itself are passed as errors.
func (e *Event) words(i int, v any) bool {
	if _, text := v.(string); !text || v == "" {
		return false
	}
	switch e.Keys[i] {
	case "error", "panic", "stack":
		return true
	case "reason":
		return e == runHeld || e == gatePaused || e == gateEdited || e == breakerProbed
	}
	return false
}

// Close writes pending counts and ends the limit: later records are all written.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	all := l.bursts
	l.bursts = nil
	l.mu.Unlock()
	for e, b := range all {
		b.timer.Stop()
		l.sum(e, b)
	}
}

// enabled reports whether an event is written at all. Callers use it if its values are costly.
func (l *Log) enabled(e *Event) bool { return l.logger.Enabled(context.Background(), e.Level) }

// write writes a record with the values of the event's keys.
func (l *Log) write(e *Event, values ...any) {
	if l.enabled(e) && l.admit(e) {
		l.record(e, e.Level, values)
	}
}

func (l *Log) record(e *Event, level slog.Level, values []any) {
	attributes := make([]slog.Attr, 0, len(values)+1)
	attributes = append(attributes, slog.String("event", e.Name))
	for i, v := range values {
		if err, ok := v.(error); ok { // as text: handlers of JSON would write {}
			v = err.Error()
		} else if l.private && e.words(i, v) {
			v = leftOut
		}
		attributes = append(attributes, slog.Any(e.Keys[i], v))
	}
	l.logger.LogAttrs(context.Background(), level, "perdure: "+e.Message, attributes...)
}

// admit reports whether a record is written now. A record that is not is counted.
func (l *Log) admit(e *Event) bool {
	if e.Level < slog.LevelInfo {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return true
	}
	b := l.bursts[e]
	if b == nil {
		b = &burst{}
		l.bursts[e] = b
		b.timer = time.AfterFunc(burstTime, func() { l.over(e, b) })
	}
	if b.written == burstSize {
		b.left++
		return false
	}
	b.written++
	return true
}

// over ends a burst.
func (l *Log) over(e *Event, b *burst) {
	l.mu.Lock()
	ours := l.bursts[e] == b
	if ours {
		delete(l.bursts, e)
	}
	l.mu.Unlock()
	if ours {
		l.sum(e, b)
	}
}

func (l *Log) sum(e *Event, b *burst) {
	if b.left > 0 {
		l.record(more, e.Level, []any{e.Name, b.left})
	}
}
