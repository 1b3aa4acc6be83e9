package cli

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/schedule"
	"github.com/spf13/cobra"
)

// specFlags adds the flags that say when a schedule fires.
func specFlags(cmd *cobra.Command, spec *schedule.Spec) {
	flags := cmd.Flags()
	flags.Var((*specValue)(spec), "spec", "begin with this `object`, as \"perdure schedules show NAME -o json\" has it; other flags change it")
	flags.StringVar(&spec.Cron, "cron", "", "fire at the times of this `expression`")
	flags.StringVar(&spec.TimeZone, "zone", "", "time `zone` of --cron, such as \"Europe/Paris\" (default UTC)")
	flags.DurationVar(&spec.Every, "every", 0, "fire at this `interval`, counted from 1970 in UTC")
	flags.DurationVar(&spec.Offset, "offset", 0, "`shift` the times of --every")
	flags.DurationVar(&spec.Jitter, "jitter", 0, "fire up to so much `later`, at random")
	flags.DurationVar(&spec.CatchUp, "catch-up", 0, "fire missed times that are not `older` than this (default 24h)")
}

// specValue makes a schedule's spec a flag that takes JSON.
type specValue schedule.Spec

func (s *specValue) String() string { return "" }
func (s *specValue) Type() string   { return "JSON" }

// Set parses a spec. Flags given before it keep their values.
func (s *specValue) Set(text string) error {
	var read schedule.Spec
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		return err
	}
	given := schedule.Spec(*s)
	read.Cron, read.TimeZone, read.Overlap = cmp.Or(given.Cron, read.Cron), cmp.Or(given.TimeZone, read.TimeZone), cmp.Or(given.Overlap, read.Overlap)
	read.Every, read.Offset = cmp.Or(given.Every, read.Every), cmp.Or(given.Offset, read.Offset)
	read.Jitter, read.CatchUp = cmp.Or(given.Jitter, read.Jitter), cmp.Or(given.CatchUp, read.CatchUp)
	*s = specValue(read)
	return nil
}

// changedSpec returns a spec with the changes of a command's flags. A cron expression
// replaces an interval, and vice versa.
func changedSpec(cmd *cobra.Command, old, given schedule.Spec) schedule.Spec {
	changed := cmd.Flags().Changed
	switch {
	case changed("cron"):
		old.Cron, old.Every, old.Offset = given.Cron, 0, 0
	case changed("every"):
		old.Every, old.Cron, old.TimeZone = given.Every, "", ""
	}
	if changed("zone") {
		old.TimeZone = given.TimeZone
	}
	if changed("offset") {
		old.Offset = given.Offset
	}
	if changed("jitter") {
		old.Jitter = given.Jitter
	}
	if changed("catch-up") {
		old.CatchUp = given.CatchUp
	}
	if given.Overlap != "" {
		old.Overlap = given.Overlap
	}
	return old
}

// scheduleWords replaces the field names of a schedule by the flags.
var scheduleWords = strings.NewReplacer("schedule: ", "", "Cron", "--cron", "TimeZone", "--zone", "Every", "--every",
	"Offset", "--offset", "Jitter", "--jitter", "CatchUp", "--catch-up", "Overlap", "--overlap")

// checkSchedule returns an error for an invalid schedule.
func checkSchedule(spec schedule.Spec) error {
	err := spec.Validate()
	if err == nil {
		return nil
	}
	return usage("See: perdure schedules create --help", "%s", human.Sentence(scheduleWords.Replace(err.Error())))
}
