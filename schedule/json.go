package schedule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// MarshalJSON writes durations as strings such as "1h30m0s".
func (s Spec) MarshalJSON() ([]byte, error) {
	return json.Marshal(specJSON{
		Cron: s.Cron, TimeZone: s.TimeZone, Every: durationJSON(s.Every), Offset: durationJSON(s.Offset),
		Jitter: durationJSON(s.Jitter), Overlap: s.Overlap, CatchUp: durationJSON(s.CatchUp),
	})
}

// UnmarshalJSON reads what MarshalJSON writes, durations in all the forms of
// [time.ParseDuration]. It refuses unknown fields, and does not validate the Spec.
func (s *Spec) UnmarshalJSON(data []byte) error {
	var w specJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return err // as it is: who decodes what is around it adds the path
	}
	*s = Spec{
		Cron: w.Cron, TimeZone: w.TimeZone, Every: time.Duration(w.Every), Offset: time.Duration(w.Offset),
		Jitter: time.Duration(w.Jitter), Overlap: w.Overlap, CatchUp: time.Duration(w.CatchUp),
	}
	return nil
}

type specJSON struct {
	Cron     string       `json:"cron,omitempty"`
	TimeZone string       `json:"time_zone,omitempty"`
	Every    durationJSON `json:"every,omitempty"`
	Offset   durationJSON `json:"offset,omitempty"`
	Jitter   durationJSON `json:"jitter,omitempty"`
	Overlap  Overlap      `json:"overlap,omitempty"`
	CatchUp  durationJSON `json:"catch_up,omitempty"`
}

type durationJSON time.Duration

func (d durationJSON) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

func (d *durationJSON) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is not a duration; write one in quotes, with its units: %q", data, "1h30m")
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration; write one with its units: %q", text, "1h30m")
	}
	*d = durationJSON(v)
	return nil
}
