package shim

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// TestProgramRequest checks that the zygote reads the arguments and flags of a Program, and refuses other texts.
func TestProgramRequest(t *testing.T) {
	parse := func(text string) (args []string, flags uintptr, ok bool) {
		z := &zygote{}
		flags, ok = z.parseProgram(copy(z.text[:], text))
		for _, p := range z.args {
			if p == nil {
				break
			}
			args = append(args, string(unsafe.Slice(p, indexByte(unsafe.Slice(p, len(text)), 0))))
		}
		return args, flags, ok
	}
	for _, want := range []Program{
		{Args: []string{"berth-exec", "id"}},
		{Flags: 0x6c020000, Args: []string{"berth-sandbox"}},
		{Flags: 1, Args: strings.Split("a,,c,d,e,f,g", ",")},
	} {
		if args, flags, ok := parse(want.Text()); !ok || flags != want.Flags || !slices.Equal(args, want.Args) {
			t.Errorf("%q: got %q, flags %#x, %v, want %q, flags %#x", want.Text(), args, flags, ok, want.Args, want.Flags)
		}
	}
	for _, text := range []string{"P", "P\x00", "P1", "P1\x00", "Px\x00a\x00", "P1\x00a", Program{Args: make([]string, maxArgs+1)}.Text()} {
		if args, _, ok := parse(text); ok {
			t.Errorf("%q: got arguments %q, want it refused", text, args)
		}
	}
}
