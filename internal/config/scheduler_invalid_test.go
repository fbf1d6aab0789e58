package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// read reads a file as the commands do.
func read(file string) (KubeScheduler, error) {
	docs, err := Documents([]string{file})
	if err != nil {
		return KubeScheduler{}, err
	}
	return ReadKubeScheduler(docs[0])
}

// TestInvalidSchedulerFiles compares the error of each file in testdata/faulty with the .txt
// file next to it. "..." at the end of a line matches any text.
func TestInvalidSchedulerFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/faulty/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("got %d files, %v, want at least 30", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			want, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".txt")
			if err != nil {
				t.Error(err)
			}
			k, err := read(file)
			if err == nil {
				t.Fatalf("got %+v, want an error", k)
			}
			got := strings.ReplaceAll(err.Error(), file, filepath.Base(file)) + "\n"
			if !slices.EqualFunc(strings.Split(got, "\n"), strings.Split(string(want), "\n"), matchesLine) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func matchesLine(got, want string) bool {
	if prefix, ok := strings.CutSuffix(want, "..."); ok {
		return strings.HasPrefix(got, prefix)
	}
	return got == want
}
