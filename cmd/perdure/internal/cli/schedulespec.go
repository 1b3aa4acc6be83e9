package cli

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/schedule"
)

// firing are the flags that say when a schedule fires. Those that are nil are not given.
type firing struct {
	Spec     *specText         `flag:"spec" help:"begin with this {object}, as \"perdure schedules show NAME -o json\" has it; other flags change it"`
	Cron     *string           `flag:"cron" help:"fire at the times of this {expression}"`
	TimeZone *string           `flag:"zone" help:"time {zone} of --cron, such as \"Europe/Paris\" (default UTC)"`
	Every    *time.Duration    `flag:"every" help:"fire at this {interval}, counted from 1970 in UTC"`
	Offset   *time.Duration    `flag:"offset" help:"{shift} the times of --every"`
	Jitter   *time.Duration    `flag:"jitter" help:"fire up to so much {later}, at random"`
	CatchUp  *time.Duration    `flag:"catch-up" help:"fire missed times that are not {older} than this (default 24h)"`
	Overlap  *schedule.Overlap `flag:"overlap" enum:"skip,buffer_one,buffer_all,cancel_other,terminate_other,allow_all" help:"{what} happens to a fire while a run is open: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all (default skip)"`
}

// specText is a schedule's spec in JSON.
type specText schedule.Spec

// UnmarshalText reads a spec.
func (s *specText) UnmarshalText(text []byte) error {
	if err := json.Unmarshal(text, (*schedule.Spec)(s)); err != nil {
		return param.Bad("spec", "see: perdure schedules show NAME -o json", "is not a spec: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// over lays the flags over a spec. A cron expression replaces an interval, and vice versa.
func (f *firing) over(spec schedule.Spec) (schedule.Spec, error) {
	switch {
	case f.Spec != nil: // which sets all fields
		spec = schedule.Spec(*f.Spec)
	case f.Cron != nil:
		spec.Every, spec.Offset = 0, 0
	case f.Every != nil:
		spec.Cron, spec.TimeZone = "", ""
	}
	param.Over(f.Cron, &spec.Cron)
	param.Over(f.TimeZone, &spec.TimeZone)
	param.Over(f.Every, &spec.Every)
	param.Over(f.Offset, &spec.Offset)
	param.Over(f.Jitter, &spec.Jitter)
	param.Over(f.CatchUp, &spec.CatchUp)
	param.Over(f.Overlap, &spec.Overlap)
	if err := spec.Validate(); err != nil {
		return spec, usage("See: perdure schedules create --help", "%s", human.Sentence(scheduleWords.Replace(err.Error())))
	}
	return spec, nil
}

// scheduleWords replaces the field names of a schedule by the flags.
var scheduleWords = strings.NewReplacer("schedule: ", "", "Cron", "--cron", "TimeZone", "--zone", "Every", "--every",
	"Offset", "--offset", "Jitter", "--jitter", "CatchUp", "--catch-up", "Overlap", "--overlap")
