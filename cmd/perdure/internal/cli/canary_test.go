package cli

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/pgtest"
	_ "github.com/perdure/perdure/store/postgres" // its URLs
	"github.com/perdure/perdure/workflow"
)

// TestE150_Canary sets, shows and ends a canary, and says what is wrong with one.
func TestE150_Canary(t *testing.T) {
	url := pgtest.Database(t)
	says := func(want string, args ...string) {
		t.Helper()
		stdout, stderr, _ := call(t, append(args, "--db", url)...)
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("%v says\n%s%s, want %s", args, stdout, stderr, want)
		}
	}
	order := workflow.New("order", func(*workflow.Context, int) (int, error) { return 1, nil })
	for _, build := range []string{"v1", "v2"} {
		e, err := perdure.OpenURL(t.Context(), url, perdure.Register(order), perdure.NodeName(build), perdure.Build(build), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = e.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Close() }()
	}
	says("No canary is set. New workflows begin on whichever build is at the node to which their IDs lead.\nLive builds: v1 (1 node), v2 (1 node).", "canary")
	says(`"canary": null`, "canary", "-o", "json")
	says("there is nothing to end", "canary", "--end")
	says("The share of build v2 is missing.", "canary", "--build", "v2")
	says("The build that gets the share is missing.", "canary", "--share", "10%")
	says("--reason is for setting a canary.", "canary", "--reason", "why")
	says("--end is for whatever canary is set.", "canary", "--end", "--build", "v2")
	for _, share := range []string{"", "much", "101", "-1", "NaN", "10%%"} {
		says("Use a percentage from 0 to 100", "canary", "--build", "v2", "--share", share)
	}
	says("Nothing was changed. It would be:\n12.5 % of new workflows begin on build v2, the others on other builds.", "canary", "--build", "v2", "--share", "12.5%", "--dry-run")
	says("No canary is set.", "canary")
	says("No node of build v3 is live; until one is, new workflows begin on: v1 (1 node), v2 (1 node).", "canary", "--build", "v3", "--share", "5")
	says("12.5 % of new workflows begin on build v2, the others on other builds.\nLive builds", "canary", "--build", "v2", "--share", "12.5%", "--reason", "new tariffs", "--by", "ann")
	says(" ago by ann: new tariffs.\nLive builds", "canary")
	says(`"percent": 12.5,`, "canary", "-o", "json")
	says("12.5 % of new workflows begin on build v2, the others on other builds.", "nodes")
	says("12.5 % of new workflows begin on build v2, the others on other builds.", "status")
	says("No new workflow begins on build v2 while another build is live.", "canary", "--build", "v2", "--share", "0")
	says("All new workflows begin on build v2 while it is live.", "canary", "--build", "v2", "--share", "100")
	says("New workflows begin on whichever build", "canary", "--end", "--by", "bob")
	says("No canary is set.", "canary")
	says("12.5 % of new runs begin there", "audit")
	says("end-canary", "audit")
}
