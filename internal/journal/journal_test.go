package journal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func newRecord(n int) *Displacement {
	return &Displacement{Time: time.Unix(int64(n), 0).UTC(), Cause: "API", Pod: Pod{Namespace: "ns", Name: fmt.Sprint("p", n), UID: fmt.Sprint("u", n)}}
}

func open(t *testing.T, dir string, o Options) *Journal {
	t.Helper()
	if o.Writer == "" {
		o.Writer = "test"
	}
	j, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func read(t *testing.T, dir string) []*Displacement {
	t.Helper()
	list, lineErrors, err := Read(dir)
	if err != nil || len(lineErrors) > 0 {
		t.Fatalf("got error %v and line errors %v, want none", err, lineErrors)
	}
	return list
}

// TestConcurrentAppends checks that no record is lost, that Read returns the newest first, and that a closed journal
// refuses records.
func TestConcurrentAppends(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() {
			if err := j.Append(newRecord(n)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := read(t, dir)
	if len(got) != 50 || got[0].Pod.Name != "p49" || got[49].Pod.Name != "p0" {
		t.Errorf("got %d records, the first of %s, want 50 from p49 to p0", len(got), got[0].Pod.Name)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(newRecord(99)); err == nil {
		t.Error("got no error from Append after Close")
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{Writer: "one"})
	if _, err := Open(dir, Options{Writer: "one"}); err == nil {
		t.Error("got no error for a second writer of the same files")
	}
	open(t, dir, Options{Writer: "two"})
	if _, err := Open(dir, Options{Writer: "../x"}); err == nil {
		t.Error("got no error for a writer name with a path")
	}
}

func TestSizeIsBounded(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{FileBytes: 1000, Files: 3})
	for n := range 200 {
		if err := j.Append(newRecord(n)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := listFiles(dir, displacementPrefix)
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if len(files) != 3 || total > 3000 {
		t.Errorf("got %d files with %d bytes, want 3 with at most 3000", len(files), total)
	}
	if got := read(t, dir); got[0].Pod.Name != "p199" || len(got) < 10 {
		t.Errorf("got %d records, the newest of %s, want at least 10, the newest of p199", len(got), got[0].Pod.Name)
	}
}

func TestIncompleteLine(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	err := j.Append(newRecord(1))
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filePath(dir, displacementPrefix+"test", 1), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"time":"2026-01-01T00:00:00Z","pod":{"na`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); len(got) != 1 {
		t.Errorf("got %d records before an incomplete line, want 1", len(got))
	}
	j = open(t, dir, Options{})
	if err := j.Append(newRecord(2)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); len(got) != 2 {
		t.Errorf("got %d records around an incomplete line, want 2", len(got))
	}
}

func TestInvalidLineIsReported(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	if err := j.Append(newRecord(1)); err != nil {
		t.Fatal(err)
	}
	path := filePath(dir, displacementPrefix+"test", 1)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("no JSON\n{}\n"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	list, lineErrors, err := Read(dir)
	if len(list) != 1 || len(lineErrors) != 2 || err != nil || !strings.Contains(lineErrors[0].Error(), ":1: ") {
		t.Errorf("got %d records, line errors %v and error %v, want 1 record and 2 line errors", len(list), lineErrors, err)
	}
}

// TestKilledWriter kills a process repeatedly during its writes. Every record that it has reported
// as written must exist, and the next process must be able to continue.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("BERTH_JOURNAL_TEST"); dir != "" {
		writeUntilKilled(dir)
	}
	dir, want := t.TempDir(), map[string]bool{}
	for round := range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), "BERTH_JOURNAL_TEST="+dir, "BERTH_JOURNAL_ROUND="+strconv.Itoa(round))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 20 && lines.Scan(); n++ {
			want[lines.Text()] = true
		}
		_ = cmd.Process.Kill()
		for lines.Scan() { // reported before it was killed; a line of the pipe may be truncated, too
			if text := lines.Text(); strings.HasSuffix(text, ".") {
				want[text] = true
			}
		}
		_ = cmd.Wait()
	}
	found := map[string]bool{}
	for _, d := range read(t, dir) {
		found[d.Pod.Name+"."] = true
	}
	for name := range want {
		if !found[name] {
			t.Errorf("%s was reported as written but is missing", name)
		}
	}
	if len(want) < 100 {
		t.Errorf("got %d written records, want at least 100", len(want))
	}
}

// writeUntilKilled writes records and prints their names.
func writeUntilKilled(dir string) {
	j, err := Open(dir, Options{Writer: "killed", FileBytes: 4000, Files: 1000})
	for n := 0; err == nil; n++ {
		d := newRecord(n)
		d.Pod.Name = fmt.Sprintf("r%s-%d", os.Getenv("BERTH_JOURNAL_ROUND"), n)
		d.Pod.UID, d.Rule = d.Pod.Name, strings.Repeat("x", n%700)
		if err = j.Append(d); err == nil {
			fmt.Println(d.Pod.Name + ".")
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestMergePrefersOriginalRecords(t *testing.T) {
	at := time.Unix(100, 0)
	reconstructed, original := newRecord(5), newRecord(3)
	reconstructed.Reconstructed, reconstructed.Deleted, reconstructed.Pod = true, &at, original.Pod
	reconstructed.Replacement = &Replacement{Name: "n", Node: "n2"}
	original.RequestedBy = "alice"
	partial := newRecord(3)
	partial.Replacement = &Replacement{Name: "n"}
	for _, order := range [][]*Displacement{{reconstructed, original, partial}, {partial, original, reconstructed}, {original, reconstructed, partial}} {
		got := Merge(order)
		if len(got) != 1 || got[0].Reconstructed || got[0].RequestedBy != "alice" || got[0].Deleted == nil || got[0].Replacement.Node != "n2" {
			t.Errorf("got %+v, want the original record with the end and the replacement of the others", got[0])
		}
	}
}
