package explain

import (
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"plain, größer":          "plain, größer",
		"panic\n\tat x\n":        "panic;  at x",
		"\x1b[2Jall good":        `\x1b[2Jall good`,
		"a\u202eb\x00":           `a\u202eb\x00`,
		strings.Repeat("x", 301): strings.Repeat("x", 300) + " ...",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", text, got, want)
		}
	}
}
