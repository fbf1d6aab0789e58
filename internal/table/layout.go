package table

import (
	"slices"
	"strings"
)

const (
	gap       = 2  // spaces between two cells
	keyIndent = 2  // of the lines of a row after its first
	minText   = 24 // width of the last column below which its words are not wrapped
)

// fits reports whether the columns from the given one fit into a line with an indentation. The last column may be
// wrapped.
func (g *grid) fits(from, indent int) bool {
	used, last := indent, len(g.widths)-1
	for _, w := range g.widths[from:max(last, 0)] {
		used += w + gap
	}
	return last < 0 || used+min(g.widths[last], max(minText, g.longestWord(last))) <= Width
}

// longestWord returns the width of the longest word of a column.
func (g *grid) longestWord(column int) (longest int) {
	for _, row := range g.rows {
		for word := range strings.FieldsSeq(row[column]) {
			longest = max(longest, width(word))
		}
	}
	return longest
}

// writeLines writes a line for each row. With wrap, it wraps the words of the last column.
func (g *grid) writeLines(b *strings.Builder, indent int, wrap bool) {
	for _, row := range g.rows {
		writeLine(b, row, g.widths, indent, wrap)
	}
}

// writeTwoLines writes the key of each row, and its other cells in the next line.
func (g *grid) writeTwoLines(b *strings.Builder, key int) {
	for _, row := range g.rows {
		writeLine(b, row[:key], g.widths[:key], 0, false)
		if slices.ContainsFunc(row[key:], hasValue) {
			writeLine(b, row[key:], g.widths[key:], keyIndent, true)
		}
	}
}

// writeBlocks writes the key of each row, and each other value in a line of its own after its column's name, as
// kubectl describe does.
func (g *grid) writeBlocks(b *strings.Builder, key int) {
	names := slices.Clone(g.rows[0])
	labels := 0
	for i, n := range names[key:] {
		if n != "" {
			names[key+i] = n[:1] + strings.ToLower(n[1:]) + ":"
		}
		labels = max(labels, width(names[key+i]))
	}
	for i, row := range g.rows {
		writeLine(b, row[:key], g.widths[:key], 0, false)
		for j, value := range row[key:] {
			if i > 0 && hasValue(value) {
				writeLine(b, []string{names[key+j], value}, []int{labels, 0}, keyIndent, true)
			}
		}
	}
}

func hasValue(cell string) bool { return cell != "" && cell != "-" }

// writeLine writes cells in columns. With wrap, it wraps the words of the last cell.
func writeLine(b *strings.Builder, cells []string, widths []int, indent int, wrap bool) {
	last := len(cells) - 1
	line := strings.Repeat(" ", indent)
	for i, c := range cells[:last] {
		line += c + strings.Repeat(" ", widths[i]-width(c)+gap)
	}
	text := cells[last]
	if wrap && width(line)+width(text) > Width {
		text = strings.ReplaceAll(Fill(text, Width-width(line)), "\n", "\n"+strings.Repeat(" ", width(line)))
	}
	b.WriteString(strings.TrimRight(line+text, " ") + "\n")
}
