package dashboard

// page is a row of the table of pages.
type page struct {
	path  string // of the URL, below the dashboard; links to the page are this text
	title string
	menu  string // name in the menu; empty if it is not in the menu
	under string // path of the menu entry to which the page belongs; empty: its own
	file  string // of its template, without .html
	still bool   // does not change by itself: no live updates

	// command names the command lines that show the same, separated by commas. A page with
	// post has none: its operations have.
	command string

	// show reads the data for the page's template.
	show func(*request) (any, error)
	// post carries out the page's form and returns the outcome; nil if there is no such
	// form. Only operators get there.
	post func(*request) (any, error)
}

// pages are all pages of the dashboard, those of the menu in its order.
var pages = []page{
	{path: "", title: "Overview", menu: "Overview", file: "overview", command: "status", show: overview},
	{path: "runs", title: "Runs", menu: "Runs", file: "runs", command: "list", show: runsList},
	{path: "workflows", title: "Workflows", menu: "Workflows", file: "workflows", command: "workflows", show: workflows},
	{path: "run", title: "Run", under: "runs", file: "run", command: "show, calls, audit", show: showRun},
	{path: "history", title: "History", under: "runs", file: "history", command: "history", show: history},
	{path: "attempts", title: "Attempts", under: "runs", file: "attempts", command: "attempts", show: attemptsList},
	{path: "tree", title: "Children", under: "runs", file: "tree", command: "show", show: tree},
	{path: "compare", title: "Comparison", under: "runs", file: "compare", command: "compare", show: compare},
	{path: "text", title: "Text", under: "runs", file: "text", still: true, command: "show, history", show: wholeText},
	{path: "operate", title: "Operate", under: "runs", file: "confirm", still: true, show: showCommand, post: carryOut},
	{path: "ledger", title: "Ledger", menu: "Ledger", file: "ledger", command: "stats errors, stats activities, stats hours, attempts", show: ledger},
	{path: "gates", title: "Gates", menu: "Gates", file: "gates", command: "gates", show: gates},
	{path: "gate", title: "Gate", under: "gates", file: "gate", command: "gates show", show: showGate},
	{path: "schedules", title: "Schedules", menu: "Schedules", file: "schedules", command: "schedules", show: schedules},
	{path: "schedule", title: "Schedule", under: "schedules", file: "schedule", command: "schedules show", show: showSchedule},
	{path: "change", title: "Change", file: "confirm", still: true, show: showCommand, post: carryOut},
	{path: "nodes", title: "Nodes", menu: "Nodes", file: "nodes", command: "nodes", show: nodes},
	{path: "policy", title: "Policy simulator", menu: "Policy", file: "policy", still: true, command: "policy explain", show: showPolicy},
	{path: "lab", title: "Policy lab", under: "policy", file: "lab", still: true, command: "policy try", show: lab},
	{path: "audit", title: "Audit", menu: "Audit", file: "audit", command: "audit", show: audit},
}
