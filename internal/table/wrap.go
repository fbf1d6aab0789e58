package table

import "strings"

// Width is the number of columns of a terminal that text fits into, unless a single word is longer.
const Width = 80

// maxPrefix is the number of columns in which Wrap looks for cells of a line.
const maxPrefix = 40

// Wrap breaks lines of more than [Width] columns between words. The further lines of an indented line have two more
// columns of indentation. If a line starts with cells, which two spaces separate, only the last cell is broken.
func Wrap(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, newline := strings.CutSuffix(line, "\n")
		if width(line) > Width {
			line = wrapLine(line)
		}
		b.WriteString(line)
		if newline {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func wrapLine(line string) string {
	words := strings.TrimLeft(line, " ")
	prefix := line[:len(line)-len(words)]
	further := prefix
	if prefix != "" {
		further += "  "
	}
	if gap := strings.LastIndex(words[:min(len(words), maxPrefix)], "  "); gap > 0 {
		words = strings.TrimLeft(words[gap:], " ")
		prefix = line[:len(line)-len(words)]
		further = strings.Repeat(" ", width(prefix))
	}
	return prefix + strings.ReplaceAll(Fill(words, Width-width(further)), "\n", "\n"+further)
}

// Fill returns the words of a paragraph in lines of at most the given number of columns, unless a single word is longer.
func Fill(paragraph string, columns int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(paragraph) {
		switch {
		case column == 0:
		case column+1+width(word) > columns:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width(word)
	}
	return b.String()
}
