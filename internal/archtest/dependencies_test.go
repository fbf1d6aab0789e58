package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDirectDependenciesHaveReasons checks that docs/reference/dependencies.md has a
// reason for each direct dependency, and no other rows.
func TestDirectDependenciesHaveReasons(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var direct, documented []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+(.*)$`).FindAllStringSubmatch(read("go.mod"), -1) {
		if !strings.Contains(m[2], "// indirect") {
			direct = append(direct, m[1])
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\S+)` \\| \\S.* \\|$").FindAllStringSubmatch(read("docs/reference/dependencies.md"), -1) {
		documented = append(documented, m[1])
	}
	if len(direct) == 0 {
		t.Fatal("no direct dependency found in go.mod: the parser is broken")
	}
	for _, d := range direct {
		if !slices.Contains(documented, d) {
			t.Errorf("%s is a direct dependency without a reason in docs/reference/dependencies.md", d)
		}
	}
	for _, r := range documented {
		if !slices.Contains(direct, r) {
			t.Errorf("%s is listed in docs/reference/dependencies.md but is not a direct dependency", r)
		}
	}
}
