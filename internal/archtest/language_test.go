package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordings hold text of others, or generated text.
var recordings = []string{
	"conformance/testdata", "apiserver/openapi", "parity/go.sum", "go.sum", "internal/archtest/language.go", "LICENSE",
}

// TestBannedWords checks every text file of the repository, including comments, scenarios and scripts.
func TestBannedWords(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(p, root), string(filepath.Separator)))
		if slices.Contains(recordings, rel) || d.IsDir() && (rel == ".git" || rel == ".berth" || rel == "dist" || d.Name() == "node_modules") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		files++
		for n, line := range strings.Split(string(text), "\n") {
			if word := BannedWords.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: say what the program or object does", rel, n+1, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Fatalf("checked only %d files: the walk is broken", files)
	}
}
