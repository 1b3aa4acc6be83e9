package determinism

import (
	"go/types"
	"strings"
)

// offence is what a function does that workflow code must not, and what to do
// instead.
type offence struct{ what, hint string }

var (
	clock     = offence{"reads the machine's clock", "a replay sees another time; use workflow.Now"}
	waits     = offence{"waits in real time", "it blocks the run and is not recorded; use workflow.Sleep or workflow.NewTimer"}
	deadline  = offence{"sets a deadline in real time", "a replay reaches it at another place; use workflow.Timeout"}
	random    = offence{"draws a random value", "a replay draws another one; use workflow.Rand or workflow.UUID"}
	io        = offence{"does I/O", "a replay does it again, and may find something else; do it in an activity or with workflow.Do"}
	printing  = offence{"prints or logs", "each replay does it again; use workflow.Logger, or do it in an activity or with workflow.Do"}
	locking   = offence{"waits for other goroutines", "coroutines of a workflow run one at a time and need no locks; to wait for them use workflow.WaitAll or workflow.NewChannel"}
	scheduler = offence{"depends on the Go scheduler", "a replay is scheduled differently; leave it out"}
	inProcess = offence{"retries in process", "its waits and attempts are not recorded; use workflow.Retry, or the retry policy of the activity"}
	engine    = offence{"talks to the engine", "a replay does it again; use the verbs of package workflow, or do it in an activity"}
)

// functions are package functions by their package; "*" is all that are not named.
var functions = map[string]map[string]offence{
	"time": {
		"Now": clock, "Since": clock, "Until": clock,
		"Sleep": waits, "After": waits, "AfterFunc": waits, "NewTimer": waits, "NewTicker": waits, "Tick": waits,
	},
	"context": {
		"WithTimeout": deadline, "WithDeadline": deadline, "WithTimeoutCause": deadline, "WithDeadlineCause": deadline, "AfterFunc": locking,
	},
	"math/rand":     {"*": random, "New": {}, "NewSource": {}, "NewZipf": {}},
	"math/rand/v2":  {"*": random, "New": {}, "NewPCG": {}, "NewChaCha8": {}, "NewZipf": {}},
	"crypto/rand":   {"*": random},
	"os":            {"*": io, "IsExist": {}, "IsNotExist": {}, "IsPermission": {}, "IsTimeout": {}, "NewSyscallError": {}, "Expand": {}},
	"os/exec":       {"*": io},
	"os/user":       {"*": io},
	"io/ioutil":     {"*": io, "ReadAll": {}, "NopCloser": {}},
	"path/filepath": {"Abs": io, "EvalSymlinks": io, "Glob": io, "Walk": io, "WalkDir": io},
	"database/sql":  {"Open": io, "OpenDB": io},
	"net":           {"Dial": io, "DialTimeout": io, "Listen": io, "ListenPacket": io, "LookupHost": io, "LookupIP": io, "LookupAddr": io, "LookupCNAME": io, "LookupMX": io, "LookupTXT": io, "LookupPort": io, "Interfaces": io, "InterfaceAddrs": io},
	"net/http":      {"Get": io, "Head": io, "Post": io, "PostForm": io, "ListenAndServe": io, "ListenAndServeTLS": io, "Serve": io},
	"net/smtp":      {"*": io, "PlainAuth": {}, "CRAMMD5Auth": {}},
	"fmt":           {"Print": printing, "Printf": printing, "Println": printing, "Scan": io, "Scanf": io, "Scanln": io},
	"log":           {"*": printing, "New": {}},
	"log/slog":      {"Debug": printing, "Info": printing, "Warn": printing, "Error": printing, "Log": printing, "LogAttrs": printing, "DebugContext": printing, "InfoContext": printing, "WarnContext": printing, "ErrorContext": printing},
	"runtime":       {"Gosched": scheduler, "Goexit": scheduler, "NumGoroutine": scheduler, "GC": scheduler, "NumCPU": scheduler, "GOMAXPROCS": scheduler},
	home + "/retry": {"Do": inProcess, "Value": inProcess},
	home:            {"Run": engine, "Start": engine, "StartTx": engine, "Transact": engine, "Schedule": engine, "Open": engine, "OpenURL": engine},
	home + "/ops":   {"*": engine, "By": {}, "Why": {}, "RequestID": {}, "DryRun": {}},
}

// methods are methods by their type; "*" is all that are not named.
var methods = map[string]map[string]offence{
	"os.File":            {"*": io},
	"os/exec.Cmd":        {"*": io, "String": {}},
	"database/sql.DB":    {"*": io},
	"database/sql.Conn":  {"*": io},
	"database/sql.Tx":    {"*": io},
	"database/sql.Stmt":  {"*": io},
	"net.Dialer":         {"*": io},
	"net.Resolver":       {"*": io},
	"net/http.Client":    {"*": io},
	"net/http.Transport": {"RoundTrip": io},
	"net/http.Server":    {"*": io},
	"log.Logger":         {"*": printing},
	"log/slog.Logger":    {"*": printing, "With": {}, "WithGroup": {}, "Handler": {}, "Enabled": {}},
	"sync.Mutex":         {"*": locking},
	"sync.RWMutex":       {"*": locking},
	"sync.WaitGroup":     {"*": locking},
	"sync.Cond":          {"*": locking},
	"time.Timer":         {"*": waits},
	"time.Ticker":        {"*": waits},
	home + ".Engine":     {"*": engine},
	home + ".Handle":     {"*": engine},

	home + "/workflow.Signal": {"Send": engine, "SendOnce": engine},
	home + "/workflow.Query":  {"Ask": engine},
	home + "/workflow.Update": {"Call": engine, "CallOnce": engine},
}

// forbidden looks a function up.
func forbidden(f *types.Func) (offence, bool) {
	path := pathOf(f)
	table := functions[path]
	if recv := f.Signature().Recv(); recv != nil {
		table = methods[path+"."+receiver(recv.Type())]
	} else if isUUID(path) {
		return uuid(f.Name())
	}
	o, named := table[f.Name()]
	if !named {
		o = table["*"]
	}
	return o, o.what != ""
}

func receiver(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := types.Unalias(t).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// isUUID recognises the usual packages that make random identifiers.
func isUUID(path string) bool {
	for _, p := range strings.Split(path, "/") {
		switch p {
		case "uuid", "go.uuid", "ulid", "xid", "ksuid", "nanoid":
			return !isStandard(path)
		}
	}
	return false
}

func uuid(name string) (offence, bool) {
	switch name {
	case "NewSHA1", "NewMD5", "NewHash", "NewV3", "NewV5": // of what is given
		return offence{}, false
	}
	made := strings.HasPrefix(name, "New") || name == "Make" || name == "MustNew"
	return random, made
}
