package shim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berthproject/berth/agent/server/logfile"
)

// TestLogKeepsLastLine checks that a reader returns exactly what the container wrote, with or without
// a final line break.
func TestLogKeepsLastLine(t *testing.T) {
	for _, text := range []string{"DONE", "DONE\n", "a\nDONE"} {
		path := filepath.Join(t.TempDir(), "0.log")
		var l containerLog
		if err := l.open(path); err != nil {
			t.Fatal(err)
		}
		s := &stream{name: "stdout"}
		l.append(s, []byte(text))
		l.flushLine(s)
		closeFile(l.fd)
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		if err := logfile.Copy(t.Context(), out, path, logfile.All(), nil); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out.Name()); err != nil || string(got) != text {
			t.Errorf("read %q, %v, want %q", got, err, text)
		}
	}
}
