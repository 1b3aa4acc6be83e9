package dashboard

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// Bounds of the audit: the number of entries that are read and then filtered, and of those
// that are shown.
const (
	auditRead = 5000
	auditPage = 100
)

// auditPageData is the audit of the whole group.
type auditPageData struct {
	Filter          auditFilter
	Tabs            []listTab
	Kinds, Outcomes []string
	Clear           template.URL
	Rows            []*view.AuditRecord
	Says            []string     // what is not shown
	Earlier         template.URL // operations on runs that this page does not read
	Pager           *pager
}

type auditFilter struct {
	listing.Span
	Kind      string `query:"kind"`
	Name      string `query:"name"`
	Operation string `query:"operation"`
	By        string `query:"by"`
	Outcome   string `query:"outcome"`
}

// selects reports whether an entry matches the filter. Names of things and people match by
// a part of them.
func (f *auditFilter) selects(r *view.AuditRecord) bool {
	part := func(text, want string) bool {
		return want == "" || strings.Contains(strings.ToLower(text), strings.ToLower(want))
	}
	return (f.Kind == "" || r.Kind == f.Kind) && (f.Outcome == "" || r.Outcome == f.Outcome) && (f.Operation == "" || r.Operation == f.Operation) &&
		(part(r.Name, f.Name) || f.Name != "" && part(r.Step, f.Name)) && part(r.By, f.By)
}

var (
	auditKinds    = []string{"workflow", "activity", "gate", "schedule"}
	auditOutcomes = []string{view.Applied, view.Unchanged, view.Refused, view.NotPending}
)

// aboutRecord is the link to what an entry of the audit is about.
func aboutRecord(r *view.AuditRecord) linked {
	switch r.Kind {
	case "workflow":
		return runLink(r.Name, r.RunID)
	case "activity":
		return linked{r.Name, link("ledger", "activity", r.Name)}
	case "gate":
		return gateLink(r.Name)
	case "schedule":
		return scheduleLink(r.Name)
	}
	return linked{Text: r.Name}
}

func audit(q *request) (any, error) {
	var f auditFilter
	if err := q.readSpanned(&f, &f.Span, "7d"); err != nil {
		return nil, err
	}
	v := q.URL.Query()
	for _, c := range []struct {
		value string
		all   []string
	}{{f.Kind, auditKinds}, {f.Outcome, auditOutcomes}} {
		if c.value != "" && !slices.Contains(c.all, c.value) {
			return nil, &badRequest{"There is nothing called " + strconv.Quote(c.value) + " in the audit.", "Use one of: " + strings.Join(c.all, ", ") + "."}
		}
	}
	a, err := ops.Audit(q.ctx, q.engine, view.AuditFilter{Since: f.Since.At, Until: f.Until.At, Limit: auditRead, Before: v.Get("before")})
	if err != nil {
		return nil, err
	}
	p := &auditPageData{Filter: f, Kinds: auditKinds, Outcomes: auditOutcomes, Tabs: spanTabs("audit", &f.Span, spanned(&f))}
	if everything := (auditFilter{Span: f.Span}); f != everything {
		p.Clear = linkTo("audit", spanned(&everything))
	}
	var found []*view.AuditRecord
	for i := range a.Records {
		if f.selects(&a.Records[i]) {
			found = append(found, &a.Records[i])
		}
	}
	from, to, pages := q.part(len(found), auditPage, func(from string) template.URL {
		e := spanned(&f)
		e.Set("from", from)
		if before := v.Get("before"); before != "" {
			e.Set("before", before)
		}
		return linkTo("audit", e)
	})
	p.Rows, p.Pager = found[from:to], pages
	p.Pager.Of, p.Pager.Text = "the audit", human.Plural(len(found), "entry", "entries")+", latest first"
	if a.More {
		p.Says = append(p.Says, "There are earlier entries: end the time span where these end.")
	}
	if a.Unread {
		p.Says = append(p.Says, "What was done to a run is in its history: those of the "+strconv.Itoa(a.Runs)+" runs that started last were read, and not those before them.")
		e := spanned(&f)
		e.Set("before", a.Searched)
		p.Earlier = linkTo("audit", e)
	}
	return p, nil
}
