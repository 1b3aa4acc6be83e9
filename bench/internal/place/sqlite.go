package place

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // to look at the file
)

// SQLiteFile is a file in a directory of its own.
type SQLiteFile struct{ path string }

// Location is the path of the file.
func (d *SQLiteFile) Location() string { return d.path }

// Cost tells what this process has passed to write calls, which is what the file layer of
// SQLite writes: its log and the pages of checkpoints. The kernel's write_bytes is not used: it
// charges each touched folio in full, and large folios made 201 MiB of 71.
func (d *SQLiteFile) Cost(context.Context) (Cost, error) {
	f, err := os.Open("/proc/self/io")
	if err != nil {
		return Cost{}, err
	}
	defer f.Close()
	var c Cost
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "wchar: "); ok {
			_, err := fmt.Sscan(value, &c.Written)
			return c, err
		}
	}
	return Cost{}, fmt.Errorf("/proc/self/io has no wchar; this kernel lacks task I/O accounting")
}

// Commits are not known to SQLite.
func (*SQLiteFile) Commits(context.Context) (int64, bool, error) { return 0, false, nil }

// Size counts the pages, those in the write-ahead log at their place.
func (d *SQLiteFile) Size(ctx context.Context) (size int64, err error) {
	err = d.look(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&size)
	})
	return size, err
}

// Tables counts the pages of tables and their indexes.
func (d *SQLiteFile) Tables(ctx context.Context) (tables []Table, err error) {
	err = d.look(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s USING (name)
			WHERE d.aggregate = TRUE GROUP BY s.tbl_name ORDER BY 2 DESC`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			t := Table{Rows: -1, Dead: -1}
			if err := rows.Scan(&t.Name, &t.Bytes); err != nil {
				return err
			}
			tables = append(tables, t)
		}
		return rows.Err()
	})
	return tables, err
}

func (d *SQLiteFile) look(at func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", "file:"+d.path+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	return at(db)
}

// Drop deletes the directory of the file.
func (d *SQLiteFile) Drop(context.Context) error { return os.RemoveAll(filepath.Dir(d.path)) }
