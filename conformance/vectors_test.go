package conformance_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// vectorsDir is the directory of vectors that replace those of the repository.
var vectorsDir = flag.String("vectors", "", "directory of *.jsonl vectors to run instead of testdata")

// hasSchema reports whether the keys of a vector are those of a schema. Each schema has fields that no other schema
// has.
func hasSchema(schema string, keys map[string]json.RawMessage) bool {
	switch schema {
	case "api":
		return keys["steps"] != nil
	case "scheduling":
		return keys["objects"] != nil && keys["policy"] == nil
	case "descheduler":
		return keys["policy"] != nil
	}
	return keys["config"] != nil && keys["steps"] == nil && keys["objects"] == nil
}

// loadFamilies returns the vectors of one schema ("api", "scheduling", "eviction" or
// "descheduler") by family, in file order. It reads testdata/<schema>/*.jsonl.gz or, with
// -vectors DIR, every *.jsonl in DIR/<schema> and those in DIR that have this schema.
func loadFamilies(t *testing.T, schema string) map[string][]json.RawMessage {
	t.Helper()
	var files []string
	if *vectorsDir == "" {
		files = glob(t, filepath.Join("testdata", schema, "*.jsonl.gz"))
	} else {
		dir := vectorsPath(t)
		files = append(glob(t, filepath.Join(dir, "*.jsonl")), glob(t, filepath.Join(dir, schema, "*.jsonl"))...)
	}
	families := map[string][]json.RawMessage{}
	for _, file := range files {
		for _, line := range readLines(t, file) {
			var keys map[string]json.RawMessage
			if err := json.Unmarshal(line, &keys); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if !hasSchema(schema, keys) {
				break // the whole file has another schema
			}
			var family string
			_ = json.Unmarshal(keys["family"], &family)
			if family == "" {
				family = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".jsonl")
			}
			families[family] = append(families[family], line)
		}
	}
	return families
}

// vectorsPath returns the directory that -vectors names, relative to this package or to
// the root of the module. The test fails if the directory has no vectors.
func vectorsPath(t *testing.T) string {
	t.Helper()
	dir := *vectorsDir
	if _, err := os.Stat(dir); err != nil && !filepath.IsAbs(dir) {
		dir = filepath.Join("..", dir)
	}
	if len(glob(t, filepath.Join(dir, "*.jsonl")))+len(glob(t, filepath.Join(dir, "*", "*.jsonl"))) == 0 {
		t.Fatalf("-vectors %s: no *.jsonl in this directory", *vectorsDir)
	}
	return dir
}

// skipWithoutVectors skips a test that found no vectors in the directory of -vectors. If testdata has no vectors,
// it calls testkit.SkipOrFail.
func skipWithoutVectors(t *testing.T, schema string) {
	t.Helper()
	if *vectorsDir != "" {
		t.Skipf("-vectors %s has no vectors of the schema %q", *vectorsDir, schema)
	}
	testkit.SkipOrFail(t, schema+" vectors", "conformance/testdata has none")
}

// glob returns the sorted paths that match a pattern.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// readLines returns the non-empty lines of a file, which may be compressed.
func readLines(t *testing.T, file string) [][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var lines [][]byte
	reader := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if line = slices.Clone(line); len(strings.TrimSpace(string(line))) > 0 {
			lines = append(lines, line)
		}
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// divergentRow matches a row of the table in docs/reference/differences.md that starts
// with an ID in backquotes.
var divergentRow = regexp.MustCompile("(?m)^\\| *`([^`]+)` *\\|")

// divergentIDs returns the IDs of the vectors that differ deliberately.
func divergentIDs(t *testing.T) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	text, err := os.ReadFile(filepath.Join("..", "docs", "reference", "differences.md"))
	if os.IsNotExist(err) {
		return ids
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range divergentRow.FindAllSubmatch(text, -1) {
		ids[string(m[1])] = true
	}
	return ids
}
