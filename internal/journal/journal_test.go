package journal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func record(n int) *Displacement {
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
	list, faults, err := Read(dir)
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	return list
}

func TestReadNewestFirst(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() {
			if err := j.Append(record(n)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := read(t, dir)
	if len(got) != 50 || got[0].Pod.Name != "p49" || got[49].Pod.Name != "p0" {
		t.Errorf("%d records, the first of %s", len(got), got[0].Pod.Name)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(record(99)); err == nil {
		t.Error("a closed journal accepted a record")
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{Writer: "one"})
	if _, err := Open(dir, Options{Writer: "one"}); err == nil {
		t.Error("two writers may open the same files")
	}
	open(t, dir, Options{Writer: "two"})
	if _, err := Open(dir, Options{Writer: "../x"}); err == nil {
		t.Error("a writer name may contain a path")
	}
}

func TestSizeIsBounded(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{FileBytes: 1000, Files: 3})
	for n := range 200 {
		if err := j.Append(record(n)); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	total := int64(0)
	for _, f := range files {
		info, _ := os.Stat(f)
		total += info.Size()
	}
	if len(files) != 3 || total > 3000 {
		t.Errorf("%d files of %d bytes", len(files), total)
	}
	if got := read(t, dir); got[0].Pod.Name != "p199" || len(got) < 10 {
		t.Errorf("%d records, the newest %s", len(got), got[0].Pod.Name)
	}
}

func TestTornLine(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	_ = j.Append(record(1))
	_ = j.Close()
	path := filePath(dir, displacementPrefix+"test", 1)
	f, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	_, _ = f.WriteString(`{"time":"2026-01-01T00:00:00Z","pod":{"na`)
	_ = f.Close()
	if got := read(t, dir); len(got) != 1 {
		t.Errorf("%d records before a truncated one", len(got))
	}
	j = open(t, dir, Options{})
	_ = j.Append(record(2))
	if got := read(t, dir); len(got) != 2 {
		t.Errorf("%d records after a truncated one", len(got))
	}
}

func TestInvalidLineIsReported(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, Options{})
	_ = j.Append(record(1))
	path := filePath(dir, displacementPrefix+"test", 1)
	data, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append([]byte("no JSON\n{}\n"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	list, faults, err := Read(dir)
	if len(list) != 1 || len(faults) != 2 || err != nil || !strings.Contains(faults[0].Error(), ":1: ") {
		t.Errorf("%d records, %v, %v", len(list), faults, err)
	}
}

// TestKilledWriter kills a process repeatedly during its writes. Every record that it has reported
// as written must exist, and the next process must be able to continue.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("BERTH_JOURNAL_TEST"); dir != "" {
		writeForEver(dir)
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
		t.Errorf("only %d records were written", len(want))
	}
}

// writeForEver prints the names of the records that it has written.
func writeForEver(dir string) {
	j, err := Open(dir, Options{Writer: "killed", FileBytes: 4000, Files: 1000})
	for n := 0; err == nil; n++ {
		d := record(n)
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
	reconstructed, first := record(5), record(3)
	reconstructed.Reconstructed, reconstructed.Deleted, reconstructed.Pod = true, &at, first.Pod
	reconstructed.Replacement = &Replacement{Name: "n", Node: "n2"}
	first.RequestedBy = "alice"
	late := record(3)
	late.Replacement = &Replacement{Name: "n"}
	for _, order := range [][]*Displacement{{reconstructed, first, late}, {late, first, reconstructed}, {first, reconstructed, late}} {
		got := Merge(order)
		if len(got) != 1 || got[0].Reconstructed || got[0].Deleted == nil || got[0].Replacement.Node != "n2" {
			t.Errorf("merged to %+v", got[0])
		}
	}
}
