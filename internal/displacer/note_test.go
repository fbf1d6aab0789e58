package displacer

import (
	"strings"
	"testing"
)

func TestTruncateNote(t *testing.T) {
	if got := TruncateNote(strings.Repeat("é", 600)); len(got) > 1024 || !strings.HasSuffix(got, "é ...") {
		t.Errorf("got %d bytes that end in %q, want at most 1024 and \"é ...\"", len(got), got[len(got)-10:])
	}
	if got := TruncateNote("short"); got != "short" {
		t.Errorf("got %q, want the note unchanged", got)
	}
}
