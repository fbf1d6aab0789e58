package table

import (
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	long := strings.Repeat("x", Width+1)
	half := strings.Repeat("ü", Width/2)
	for in, want := range map[string]string{
		"":                                  "",
		"  a \n b ":                         "a b",
		half + " " + half[len("ü"):]:        half + " " + half[len("ü"):],
		half + " " + half:                   half + "\n" + half,
		"a " + long + " b":                  "a\n" + long + "\nb",
		half[len("ü"):] + " " + half + " c": half[len("ü"):] + " " + half + "\nc",
	} {
		if got := Fill(in, Width); got != want {
			t.Errorf("Fill(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 20)) // 99 columns
	first, further := words[:79], words[80:]
	for in, want := range map[string]string{
		"":                          "",
		"short  line\n\nnext":       "short  line\n\nnext",
		words + "\n":                first + "\n" + further + "\n",
		"  " + words:                "  " + words[:74] + "\n    " + words[75:],
		"5s  ü  " + words:           "5s  ü  " + words[:69] + "\n       " + words[70:],
		strings.Repeat("x", 90):     strings.Repeat("x", 90),
		"  a " + words[:78] + "\nb": "  a " + words[:74] + "\n    " + words[75:78] + "\nb",
	} {
		if got := Wrap(in); got != want {
			t.Errorf("Wrap(%q) =\n%q, want\n%q", in, got, want)
		}
	}
}
