package wording

import (
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/schedule"
)

// Times says briefly when a schedule fires.
func Times(s schedule.Spec) string {
	text := s.Cron
	if s.Every != 0 {
		text = "every " + human.Exact(s.Every)
	}
	if s.Offset != 0 {
		text += " + " + human.Exact(s.Offset)
	}
	if s.TimeZone != "" {
		text += " " + s.TimeZone
	}
	return text
}
