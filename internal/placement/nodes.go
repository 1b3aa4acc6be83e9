package placement

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// Config is what a Nodes, and who stands on it, knows of the process and its group.
type Config struct {
	Context context.Context // ends with the engine
	Store   store.Store
	Name    string // of the group
	Group   store.Group
	Build   string        // of this program
	Watch   *outage.Watch // of reads
}

// Nodes chooses the node at which a run goes on, by what the nodes of the group have of its
// code. It is safe for concurrent use.
type Nodes struct {
	// Bell rings when a renewal of the lease shows the group anew.
	Bell clock.Bell

	config Config
	canary atomic.Pointer[store.Switch] // in force; nil for none

	mu      sync.Mutex
	seen    *store.Membership // the last renewal
	wards   map[int]bool      // partitions that have wards
	members []store.Member    // nodes with their definitions; nil if they must be read
	builds  string            // in the group when held runs were last reviewed, or when one was held
	reviews int               // how often held runs were reviewed because other builds had come
}

// New returns a Nodes that has seen no renewal yet.
func New(c Config) *Nodes { return &Nodes{Bell: clock.NewBell(), config: c} }

// Fitting returns the ID of a live node of the group with code of the workflow that was not
// tried, "" if there is none. It prefers nodes with the same code as the node last. If pin is
// set, the node must have that build.
func (n *Nodes) Fitting(workflow, last, pin string, tried []string) string {
	return n.choose(workflow, last, workflow+last, func(build, code string) bool {
		if pin != "" {
			return build == pin
		}
		return !slices.Contains(tried, code)
	})
}

// choose returns the ID of a live node of the group that has the workflow and whose build and
// code fit, or "" if there is none. Of several with the code of the node last, else of all, key
// chooses one.
func (n *Nodes) choose(workflow, last, key string, fit func(build, code string) bool) string {
	members := n.all()
	fingerprint := func(m *store.Member) string {
		all, err := record.DecodeDefinitions(m.Definitions)
		at := slices.IndexFunc(all.Workflows, func(w record.Workflow) bool { return w.Name == workflow })
		if err != nil || at < 0 {
			return ""
		}
		return record.Fingerprint(all.Workflows[at].Version, m.Build)
	}
	preferred := ""
	for i := range members {
		if members[i].ID == last {
			preferred = fingerprint(&members[i])
		}
	}
	var fits, others []string
	for i := range members {
		m := &members[i]
		code := fingerprint(m)
		if !m.Live || m.Draining || code == "" || !fit(m.Build, code) {
			continue
		}
		if code == preferred {
			fits = append(fits, m.ID)
		} else {
			others = append(others, m.ID)
		}
	}
	for _, ids := range [][]string{fits, others} {
		if len(ids) > 0 {
			slices.Sort(ids)
			sum := fnv.New32a()
			_, _ = sum.Write([]byte(key))
			return ids[int(sum.Sum32()%uint32(len(ids)))]
		}
	}
	return ""
}

// Name returns the name of a node to which a run moves.
func (n *Nodes) Name(id string) string {
	if id == "" {
		return "the owner of its partition"
	}
	for _, m := range n.all() {
		if m.ID == id {
			return m.Name
		}
	}
	return id
}

// all returns the nodes of the group, read once between two renewals; none if they cannot be
// read. If the next renewal shows other builds, held runs are reviewed.
func (n *Nodes) all() []store.Member {
	n.mu.Lock()
	known := n.members
	n.mu.Unlock()
	if known != nil {
		return known
	}
	read, err := outage.Read(n.config.Context, n.config.Watch, "reading the nodes of the group", n.config.Store.Nodes)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.builds = otherBuilds
		return nil
	}
	read = slices.DeleteFunc(read, func(m store.Member) bool { return m.Group != n.config.Name })
	builds := buildsOf(read)
	if n.builds != "" && n.builds != builds {
		builds = otherBuilds // runs are held for what was known before
	}
	n.members, n.builds = read, builds
	return read
}

// Forget makes the nodes be read again, because one of them could not be moved to.
func (n *Nodes) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.members = nil
}

// otherBuilds stands for builds that could not be read, or of which held runs know different ones:
// the next renewal shows others, whichever it shows.
const otherBuilds = "others"

// buildsOf lists the builds of live nodes to which runs may go.
func buildsOf(nodes []store.Member) (list string) {
	var builds []string
	for _, m := range nodes {
		if m.Live && !m.Draining {
			builds = append(builds, m.Build)
		}
	}
	slices.Sort(builds)
	for _, b := range slices.Compact(builds) {
		list += b + "\n"
	}
	return list
}

// Reviews returns how often held runs were reviewed because other builds had come.
func (n *Nodes) Reviews() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reviews
}

// See keeps the nodes and wards that a renewal shows. It returns the partitions of which wards
// are new: requests that relied on hearing of all of their runs here no longer can.
func (n *Nodes) See(ms *store.Membership) (fresh map[int]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	seen := *ms
	seen.Owners = slices.Clone(ms.Owners) // the member marks partitions that it gives back as free in ms.Owners
	n.seen, n.members = &seen, nil
	wards := map[int]bool{}
	fresh = map[int]bool{}
	for _, o := range ms.Owners {
		if p := Home(o.Partition); Ward(o.Partition) != 0 && !wards[p] {
			wards[p], fresh[p] = true, !n.wards[p]
		}
	}
	n.wards = wards
	n.Bell.Ring()
	return fresh
}

// Seen returns the last renewal, and whether it shows other builds than those for which runs are
// held, so that these are to be reviewed.
func (n *Nodes) Seen() (ms *store.Membership, review bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	builds := buildsOf(n.seen.Nodes)
	review = builds != n.builds && n.builds != "" // else the partitions were taken just now
	if n.builds = builds; review {
		n.reviews++
	}
	return n.seen, review
}

// HasWards reports whether a partition has wards, as far as is known.
func (n *Nodes) HasWards(partition int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wards[partition]
}

// NoteWards says that a partition has wards.
func (n *Nodes) NoteWards(partition int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.wards == nil {
		n.wards = map[int]bool{}
	}
	n.wards[partition] = true
}

// A canary gives a share of the runs that begin to nodes of one build, and the others to
// nodes of other builds (store.SwitchCanary). Which runs are of the share follows from their
// workflow IDs, so every node decides alike, and a greater share has all runs of a smaller
// one. The home of a run decides when the run is about to take its first turn, as it does
// where code is missing: the run moves to the ward of a live node, which begins it. If there
// is no such node the run begins at home: a canary lets nothing wait.
//
// It is about the first run of a chain, of whoever starts it. Later runs of the chain, resets
// and forks begin where the one before is.

// SetCanary puts a canary in force; nil for none.
func (n *Nodes) SetCanary(c *store.Switch) { n.canary.Store(c) }

// Canary reports whether a canary is in force.
func (n *Nodes) Canary() bool { return n.canary.Load() != nil }

// OfShare reports whether a run of this workflow ID is one of those that the build gets.
func OfShare(canary *store.Switch, workflowID string) bool {
	return core.Uniform(canary.Name+"\n"+workflowID, 0, 0)*store.WholeShare < float64(canary.Share)
}

// ToBegin returns the ID of the node to which a run goes that begins, "" if it begins here.
// Code that was tried is not asked for again.
func (n *Nodes) ToBegin(start *history.Start, tried []string) (node string) {
	canary := n.canary.Load()
	if canary == nil || start.Run != start.Chain || start.Base != nil {
		return ""
	}
	of := OfShare(canary, start.WorkflowID)
	if of == (n.config.Build == canary.Name) {
		return ""
	}
	partition := entity.Place(n.config.Group, start.WorkflowID) // one node for each, so that there are few wards
	return n.choose(start.Type, "", strconv.Itoa(partition), func(build, code string) bool {
		return (build == canary.Name) == of && !slices.Contains(tried, code)
	})
}

// Home returns the partition of a location.
func Home(location int) int { p, _ := store.SplitPlace(location); return p }

// Ward returns the ward of a location, 0 for the partition itself.
func Ward(location int) int { _, w := store.SplitPlace(location); return w }
