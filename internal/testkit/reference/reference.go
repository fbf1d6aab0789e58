package reference

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var update = flag.Bool("update", false, "write the generated documents in docs/reference")

// Check compares a file in docs/reference with its generated text. The first line of the file contains the command
// that generates it. With -update it writes the file.
func Check(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(dir(t), name)
	text = fmt.Sprintf("<!-- Generated: go test ./%s -run %s -update -->\n%s", pkg(t), t.Name(), text)
	current, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	compare(t, file, string(current), text)
}

// CheckSection compares a section of a file in docs/reference with its generated text. The section has
// the name of the test's package. The file must contain its two markers:
//
//	<!-- section PACKAGE -->
//	<!-- end -->
//
// With -update it writes the section.
func CheckSection(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(dir(t), name)
	lock, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // go test runs packages concurrently
		t.Fatal(err)
	}
	current, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	start, end := "<!-- section "+pkg(t)+" -->\n", "<!-- end -->\n"
	prefix, remainder, startFound := strings.Cut(string(current), start)
	_, suffix, endFound := strings.Cut(remainder, end)
	if !startFound || !endFound {
		t.Fatalf("%s lacks the markers %q and %q", file, start, end)
	}
	compare(t, file, string(current), prefix+start+text+end+suffix)
}

// compare fails the test if the current text of a file differs, or writes the new text with -update.
func compare(t testing.TB, file, current, text string) {
	t.Helper()
	if current == text {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	oldLines, newLines := strings.Split(current, "\n"), strings.Split(text, "\n")
	n := 0
	for n < min(len(oldLines), len(newLines))-1 && oldLines[n] == newLines[n] {
		n++
	}
	t.Fatalf("%s is out of date: run go test ./%s -run %s -update\nline %d is\n%s\nmust be\n%s", file, pkg(t), t.Name(), n+1, oldLines[n], newLines[n])
}

// dir returns docs/reference.
func dir(t testing.TB) string {
	t.Helper()
	return filepath.Join(root(t), "docs", "reference")
}

// pkg returns the directory of the test's package, relative to the root of the repository.
func pkg(t testing.TB) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	name, err := filepath.Rel(root(t), wd)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

// root returns the root of the repository.
func root(t testing.TB) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "docs", "reference")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no docs/reference above %s", wd)
		}
	}
}

// Table formats a Markdown table. Cells may contain any text.
func Table(header []string, rows [][]string) string {
	var b strings.Builder
	row := func(cells []string) {
		for _, c := range cells {
			c = strings.Join(strings.Fields(c), " ")
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	row(header)
	b.WriteString(strings.Repeat("| --- ", len(header)) + "|\n")
	for _, r := range rows {
		row(r)
	}
	return b.String()
}

// Code formats text as inline code, or returns "" for no text.
func Code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
