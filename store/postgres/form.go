package postgres

import (
	"fmt"
	"strings"
)

// statement is a statement that writes rows of several partitions, in two forms. On one
// server it takes the rows of all partitions together. On a distributed database (see
// distributed.go) it is for one partition, whose number is its last parameter: only then
// one server plans and runs it.
type statement struct{ plain, distributed string }

// here marks a comparison of a row's partition with that of its source in the text of a
// statement: "r.partition =@ s.partition".
const here = "=@ "

// forms makes a statement from a text with here.
func forms(text string) statement {
	s := statement{plain: strings.ReplaceAll(text, here, "= ")}
	pieces := strings.Split(text, here)
	number := fmt.Sprintf("= $%d", parametersOf(text)+1)
	for i := 1; i < len(pieces); i++ {
		other := strings.IndexAny(pieces[i], " \n\t)")
		if other < 0 {
			other = len(pieces[i])
		}
		pieces[i] = number + pieces[i][other:]
	}
	s.distributed = strings.Join(pieces, "")
	return s
}

// insertion makes a statement that inserts rows into a table whose first column is the
// partition. The distributed form takes the partition from the table places, whose row is
// stored next to the new ones. The coordinator would copy rows that are selected from no
// distributed table, and its copies do not report unique violations.
func insertion(table, columns, types, conflict string) statement {
	var arrays []string
	for i, t := range strings.Split("bigint, "+types, ", ") {
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, t))
	}
	into := "INSERT INTO perdure." + table + " AS t (partition, " + columns + ") SELECT "
	from := "unnest(" + strings.Join(arrays, ", ") + ") AS s (partition, " + columns + ")"
	return statement{
		plain:       strings.TrimSpace(into + "* FROM " + from + " " + conflict),
		distributed: strings.TrimSpace(fmt.Sprintf("%sp.partition, %s FROM perdure.places p, %s WHERE p.partition = $%d %s", into, columns, from, len(arrays)+1, conflict)),
	}
}

// parametersOf returns the highest parameter number in a text.
func parametersOf(text string) (most int) {
	for _, after := range strings.Split(text, "$")[1:] {
		n := 0
		for _, c := range after {
			if c < '0' || c > '9' {
				break
			}
			n = 10*n + int(c-'0')
		}
		most = max(most, n)
	}
	return most
}

// put adds a statement in the form that suits the server.
func (b *batch) put(s statement, args ...any) {
	if b.h.distributed {
		b.do(s.distributed, append(args, b.home)...)
		return
	}
	b.do(s.plain, args...)
}
