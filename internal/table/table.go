package table

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Column is a column of a [Table].
type Column struct {
	Name string
	Wide bool // only for wide output
}

// Columns returns columns that every output has.
func Columns(names ...string) []Column {
	out := make([]Column, len(names))
	for i, n := range names {
		out[i].Name = n
	}
	return out
}

// WideColumns returns columns for wide output only.
func WideColumns(names ...string) []Column {
	out := Columns(names...)
	for i := range out {
		out[i].Wide = true
	}
	return out
}

// Table is a table with a header, unless no column has a name. A row has a cell for each column.
type Table struct {
	Columns []Column
	// Key is the number of leading columns that identify a row. They stay in its first line if a row does not fit into
	// one line. 0 stands for 1.
	Key  int
	rows [][]string
}

// New returns an empty table of columns that every output has, and of wide ones.
func New(columns, wide []Column) *Table {
	return &Table{Columns: append(columns, wide...), Key: 1}
}

// AddRow appends a row.
func (t *Table) AddRow(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the table. Wide output has one line for each row. Otherwise, rows that do not fit into [Width] columns
// have several lines, and words of the last column are wrapped. Lines have no trailing spaces.
func (t *Table) Write(w io.Writer, wide bool) error {
	g := t.grid(wide)
	var b strings.Builder
	switch key := max(t.Key, 1); {
	case wide || !g.header || g.fits(0, 0):
		g.writeLines(&b, 0, !wide)
	case len(g.widths) > key && g.fits(key, keyIndent):
		g.writeTwoLines(&b, key)
	default:
		g.writeBlocks(&b, key)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grid is the visible part of a table.
type grid struct {
	rows   [][]string
	header bool // the first row is the header
	widths []int
}

func (t *Table) grid(wide bool) *grid {
	header := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		header[i] = c.Name
	}
	g := &grid{header: strings.Join(header, "") != ""}
	all := t.rows
	if g.header {
		all = append([][]string{header}, t.rows...)
	}
	for _, cells := range all {
		var row []string
		for i, c := range cells {
			if wide || !t.Columns[i].Wide {
				row = append(row, c)
			}
		}
		g.rows = append(g.rows, row)
		g.widths = append(g.widths, make([]int, len(row)-len(g.widths))...)
		for i, c := range row {
			g.widths[i] = max(g.widths[i], width(c))
		}
	}
	return g
}

// width returns the number of columns of a text on a terminal.
func width(s string) int { return utf8.RuneCountInString(s) }
