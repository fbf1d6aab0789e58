package explain

import (
	"strconv"
	"strings"
	"unicode"
)

// maxLineLength is how many characters of somebody else's text are shown.
const maxLineLength = 300

// oneLine is a text that users, nodes or programs in containers wrote, as one line that cannot give orders to a terminal: what
// does not print is escaped, and what is too long is cut.
func oneLine(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.TrimSpace(text) {
		if n++; n > maxLineLength {
			b.WriteString(" ...")
			break
		}
		switch {
		case r == '\n':
			b.WriteString("; ")
		case r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default: // formatting characters, too, which can turn a line around
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
