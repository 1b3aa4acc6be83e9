package human_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// TestF28_MomentsAsPeopleWriteThem: ages, days and times as they are shown are read; what Time
// prints can be copied back.
func TestF28_MomentsAsPeopleWriteThem(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	local := time.Local
	time.Local = zone
	defer func() { time.Local = local }()
	now := time.Date(2026, 10, 25, 12, 0, 0, 0, zone) // the day has 25 hours
	for text, want := range map[string]time.Time{
		"90m":                           now.Add(-90 * time.Minute),
		"7d":                            now.Add(-7 * 24 * time.Hour),
		"0s":                            now,
		"today":                         time.Date(2026, 10, 25, 0, 0, 0, 0, zone),
		"yesterday":                     time.Date(2026, 10, 24, 0, 0, 0, 0, zone),
		"2026-10-21":                    time.Date(2026, 10, 21, 0, 0, 0, 0, zone),
		"2026-10-21 15:04":              time.Date(2026, 10, 21, 15, 4, 0, 0, zone),
		"2026-10-21 15:04:05":           time.Date(2026, 10, 21, 15, 4, 5, 0, zone),
		"2026-10-21T15:04:05Z":          time.Date(2026, 10, 21, 15, 4, 5, 0, time.UTC),
		"2026-10-21 15:04:05.250+02:00": time.Date(2026, 10, 21, 15, 4, 5, 250e6, zone),
		human.Time(now):                 now,
	} {
		if got, ok := human.Moment(text, now); !ok || !got.Equal(want) {
			t.Errorf("%q is %s, %t, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-5m", "tomorrow", "2026-13-01", "2026-10-21T15:04", "7 d", "99999d"} {
		if got, ok := human.Moment(text, now); ok {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
