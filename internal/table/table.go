package table

import (
	"io"
	"strings"
	"text/tabwriter"
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

// Table is a table with a header. A row has a cell for each column.
type Table struct {
	Columns []Column
	rows    [][]string
}

// New returns an empty table of columns that every output has, and of wide ones.
func New(columns, wide []Column) *Table {
	return &Table{Columns: append(columns, wide...)}
}

// AddRow appends a row.
func (t *Table) AddRow(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the table. Lines have no trailing spaces.
func (t *Table) Write(w io.Writer, wide bool) error {
	var text strings.Builder
	cells := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	header := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		header[i] = c.Name
	}
	for _, row := range append([][]string{header}, t.rows...) {
		var visible []string
		for i, cell := range row {
			if wide || !t.Columns[i].Wide {
				visible = append(visible, cell)
			}
		}
		_, _ = io.WriteString(cells, strings.Join(visible, "\t")+"\n") // a Builder returns no error
	}
	_ = cells.Flush()
	var out strings.Builder
	for line := range strings.Lines(text.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
