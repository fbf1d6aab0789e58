package real

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const smaps = `00400000-04c00000 r-xp 00000000 fe:00 4711                             /opt/a dir/berth
Size:              73728 kB
Rss:               40000 kB
Anonymous:             0 kB
AnonHugePages:         0 kB
VmFlags: rd ex mr mw me dw
04c00000-09c00000 r--p 04800000 fe:00 4711                             /opt/a dir/berth
Anonymous:             0 kB
09c00000-09d00000 r--p 09800000 fe:00 4711                             /opt/a dir/berth
Anonymous:             4 kB
09d00000-09e00000 rw-p 09900000 fe:00 4711                             /opt/a dir/berth
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 99                       /lib/libc.so.6
Anonymous:             0 kB
7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0                        [stack]
Anonymous:            12 kB
`

func TestOnlyCleanPagesOfTheFileAreGivenBack(t *testing.T) {
	got := cleanMappings(strings.NewReader(smaps), "/opt/a dir/berth")
	if want := []mapping{{0x400000, 0x4c00000}, {0x4c00000, 0x9c00000}}; !slices.Equal(got, want) {
		t.Errorf("mappings %x, want %x", got, want)
	}
}

// A process that has given its pages back goes on, and has fewer of them.
func TestPagesAreGivenBack(t *testing.T) {
	file := func() (kb string) {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "RssFile:")
		kb, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		return kb
	}
	before := file()
	if err := unmapPages(); err != nil {
		t.Fatal(err)
	}
	after := file()
	if len(after) > len(before) || len(after) == len(before) && after >= before {
		t.Errorf("%s kB of files were mapped, now %s", before, after)
	}
}
