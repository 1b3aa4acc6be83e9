package cli

import (
	"fmt"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func statsCommand(scr *screen, db *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stats",
		Example: `  perdure stats activities --since 24h
  perdure stats hours
  perdure stats errors --since 1h`,
		Short: "Show how runs and steps went, hour by hour, and the errors",
	}
	cmd.AddCommand(
		listOf(scr, db, &listing.ActivityStats, activityTable), listOf(scr, db, &listing.HourStats, hourTable), listOf(scr, db, &listing.ErrorStats, errorTable),
	)
	return cmd
}

func activityTable(scr *screen, stats []view.ActivityStats) {
	table := scr.table("WORKFLOW", "STEP", "\tCALLS", "\tFIRST TRY", "\t", "\tRECOVERED", "\tEXHAUSTED", "\tFAILED", "\tCANCELED", "\tBY HAND", "\tATTEMPTS/CALL", "\tMEDIAN", "\t95%", "RETRYING")
	table.Spare("BY HAND", "CANCELED", "", "ATTEMPTS/CALL", "MEDIAN")
	for _, s := range stats {
		table.Row(s.Workflow, s.Name, fmt.Sprint(s.Calls), fmt.Sprint(s.FirstTry), percent(s.FirstTryRate), fmt.Sprint(s.Recovered), fmt.Sprint(s.Exhausted),
			fmt.Sprint(s.Failed), fmt.Sprint(s.Canceled), fmt.Sprint(s.ByHand), fmt.Sprintf("%.2f", s.AttemptsPerCall), human.Took(s.Median), human.Took(s.P95), human.Duration(s.MeanRetrying))
	}
	table.Write(scr.out)
}

func hourTable(scr *screen, stats []view.HourStats) {
	table := scr.table("HOUR", "\tSTARTED", "\tCOMPLETED", "\tFAILED", "\tCANCELED", "\tATTEMPTS", "\tMEDIAN", "\t95%")
	for i := range stats {
		s := &stats[i]
		table.Row(human.Hour(s.Hour), human.Count(int(s.Started)), human.Count(int(s.Completed)), painted(int(s.Failed), term.Bad), human.Count(int(s.Canceled)), human.Count(int(s.Attempts)),
			human.Took(s.Median), human.Took(s.P95))
	}
	table.Write(scr.out)
}

// percent formats a share. It is 100% only if it is everything.
func percent(share float64) string {
	text := fmt.Sprintf("%.1f%%", 100*share)
	if text == "100.0%" && share < 1 {
		return "99.9%"
	}
	return text
}

func errorTable(scr *screen, stats []view.ErrorStats) {
	table := scr.table("ERROR", "STEP", "\tATTEMPTS", "\tCALLS", "\tRECOVERED", "FIRST SEEN", "LAST SEEN", "LATEST IN", "MESSAGE")
	table.Spare("FIRST SEEN", "LATEST IN", "CALLS")
	for _, s := range stats {
		table.Row(s.ErrorType, s.Name, fmt.Sprint(s.Attempts), fmt.Sprint(s.Calls), percent(s.RecoveredShare), scr.ago(s.First), scr.ago(s.Last),
			s.Example.WorkflowID, s.Example.Message)
	}
	table.Write(scr.out)
}
