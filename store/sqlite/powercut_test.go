package sqlite_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// powerCut is a file layer below SQLite that knows which bytes would survive a power
// cut: those that were synced. It stands before SQLite's own file layer, to which it
// passes everything on, and so also sees what no pragma tells: that a sync is missing,
// or comes after the answer.
type powerCut struct {
	mu       sync.Mutex
	dir      string // files below it are watched
	platters map[string]*platter
	open     map[uintptr]watchedFile // by SQLite's handle
	methods  map[uintptr]uintptr     // SQLite's methods of files -> ours
	broken   bool                    // syncs fail
}

// platter is a file as the disk has it.
type platter struct {
	synced  []byte
	pending []change // in the order in which they were made
}

// change is a write, or, without data, a truncation.
type change struct {
	at   int64
	data []byte
}

type watchedFile struct {
	platter *platter
	methods uintptr // SQLite's
}

// The layer is one for the process, because SQLite's registry is.
var (
	power    powerCut
	original uintptr // SQLite's own layer
)

// watchPower makes SQLite use the layer for all files below dir that it opens from now on,
// until the test ends.
func watchPower(t *testing.T, dir string) *powerCut {
	t.Helper()
	tls := libc.NewTLS()
	original = lib.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString("powercut")
	if err != nil || original == 0 {
		t.Fatalf("SQLite's file layer cannot be replaced: %v", err)
	}
	power.dir, power.broken = dir, false
	power.platters, power.open = map[string]*platter{}, map[uintptr]watchedFile{}
	power.methods = map[uintptr]uintptr{}
	layer := allocate[lib.Tsqlite3_vfs](tls)
	vfs := at[lib.Tsqlite3_vfs](layer)
	*vfs = *at[lib.Tsqlite3_vfs](original)
	vfs.FpNext, vfs.FzName = 0, name
	vfs.FxOpen, vfs.FxDelete = pointer(openWatched), pointer(deleteWatched)
	if rc := lib.Xsqlite3_vfs_register(tls, layer, 1); rc != lib.SQLITE_OK {
		t.Fatalf("the file layer is refused: %d", rc)
	}
	t.Cleanup(func() {
		lib.Xsqlite3_vfs_unregister(tls, layer)
		lib.Xsqlite3_vfs_register(tls, original, 1)
		tls.Close()
	})
	return &power
}

// cut copies the database to a file of another name, as it is when the power fails now:
// nothing is left of what was not synced.
func (p *powerCut) cut(t *testing.T, database, image string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, f := range p.platters {
		if ending, ok := strings.CutPrefix(path, database); ok {
			if err := os.WriteFile(image+ending, f.synced, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (c change) apply(file []byte) []byte {
	end := c.at + int64(len(c.data))
	if grow := end - int64(len(file)); grow > 0 {
		file = append(file, make([]byte, grow)...)
	}
	if c.data == nil {
		return file[:c.at]
	}
	copy(file[c.at:], c.data)
	return file
}

// fail makes syncs fail, or succeed again.
func (p *powerCut) fail(broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// find returns the open file behind a handle of SQLite.
func (p *powerCut) find(handle uintptr) (watchedFile, *lib.Tsqlite3_io_methods) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.open[handle]
	return f, at[lib.Tsqlite3_io_methods](f.methods)
}

// changed notes a change that SQLite made.
func (p *powerCut) changed(f watchedFile, c change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.platter.pending = append(f.platter.pending, c)
}

// watch puts our methods in the place of SQLite's, for a file that it has opened.
func (p *powerCut) watch(tls *libc.TLS, path string, handle uintptr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.platters[path] == nil {
		p.platters[path] = &platter{}
	}
	file := at[lib.Tsqlite3_file](handle)
	p.open[handle] = watchedFile{platter: p.platters[path], methods: file.FpMethods}
	if p.methods[file.FpMethods] == 0 {
		ours := allocate[lib.Tsqlite3_io_methods](tls)
		m := at[lib.Tsqlite3_io_methods](ours)
		*m = *at[lib.Tsqlite3_io_methods](file.FpMethods)
		m.FxWrite, m.FxTruncate = pointer(writeWatched), pointer(truncateWatched)
		m.FxSync, m.FxClose = pointer(syncWatched), pointer(closeWatched)
		p.methods[file.FpMethods] = ours
	}
	file.FpMethods = p.methods[file.FpMethods]
}

// What follows is called by SQLite, in the place of its own functions.

func openWatched(tls *libc.TLS, _, name, handle uintptr, flags int32, out uintptr) int32 {
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](at[lib.Tsqlite3_vfs](original).FxOpen)
	rc := open(tls, original, name, handle, flags, out)
	if rc == lib.SQLITE_OK && name != 0 {
		if path := libc.GoString(name); strings.HasPrefix(path, power.dir) {
			power.watch(tls, path, handle)
		}
	}
	return rc
}

// deleteWatched forgets a file immediately: that it is deleted may be durable before
// anything else is.
func deleteWatched(tls *libc.TLS, _, name uintptr, sync int32) int32 {
	remove := function[func(*libc.TLS, uintptr, uintptr, int32) int32](at[lib.Tsqlite3_vfs](original).FxDelete)
	power.mu.Lock()
	delete(power.platters, libc.GoString(name))
	power.mu.Unlock()
	return remove(tls, original, name, sync)
}

func closeWatched(tls *libc.TLS, handle uintptr) int32 {
	_, m := power.find(handle)
	power.mu.Lock()
	delete(power.open, handle)
	power.mu.Unlock()
	return function[func(*libc.TLS, uintptr) int32](m.FxClose)(tls, handle)
}

func writeWatched(tls *libc.TLS, handle, data uintptr, n int32, offset int64) int32 {
	f, m := power.find(handle)
	rc := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](m.FxWrite)(tls, handle, data, n, offset)
	if rc == lib.SQLITE_OK {
		power.changed(f, change{offset, append([]byte{}, unsafe.Slice(at[byte](data), int(n))...)})
	}
	return rc
}

func truncateWatched(tls *libc.TLS, handle uintptr, size int64) int32 {
	f, m := power.find(handle)
	rc := function[func(*libc.TLS, uintptr, int64) int32](m.FxTruncate)(tls, handle, size)
	if rc == lib.SQLITE_OK {
		power.changed(f, change{at: size})
	}
	return rc
}

func syncWatched(tls *libc.TLS, handle uintptr, flags int32) int32 {
	f, m := power.find(handle)
	power.mu.Lock()
	begun, broken := len(f.platter.pending), power.broken
	power.mu.Unlock()
	if broken {
		return lib.SQLITE_IOERR_FSYNC
	}
	rc := function[func(*libc.TLS, uintptr, int32) int32](m.FxSync)(tls, handle, flags)
	if rc == lib.SQLITE_OK {
		power.mu.Lock()
		for _, c := range f.platter.pending[:begun] {
			f.platter.synced = c.apply(f.platter.synced)
		}
		f.platter.pending = f.platter.pending[begun:]
		power.mu.Unlock()
	}
	return rc
}

// SQLite is C that was translated: its pointers are integers, those to functions are the
// values of Go's functions. The memory is not Go's.

func allocate[T any](tls *libc.TLS) uintptr {
	var size T
	return libc.Xcalloc(tls, 1, types.Size_t(unsafe.Sizeof(size)))
}

func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&address)) }
