package explain

import (
	"strconv"
	"strings"
	"unicode"
)

// maxLineLength is the maximum number of characters of untrusted text.
const maxLineLength = 300

// oneLine makes untrusted text safe for a terminal: one line, without unprintable characters
// and of limited length.
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
		default: // includes formatting characters such as bidirectional overrides
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
