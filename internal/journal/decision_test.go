package journal

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestReadDecisionsSkipsUnreadableLines checks that ReadDecisions filters and sorts decisions. It must return the other
// decisions of a file with an unreadable and an incomplete line.
func TestReadDecisionsSkipsUnreadableLines(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1e9, 0).UTC()
	d, err := OpenDecisions(dir, Options{Writer: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Append(Decision{Time: at.Add(time.Second), Namespace: "ns", Name: "p", UID: "u", Action: "bind", Node: "n1", Attempt: 2},
		Decision{Time: at, Namespace: "ns", Name: "p", UID: "u", Action: "reject", Message: "0/1 nodes are available", Plugins: []string{"NodeResourcesFit"}},
		Decision{Time: at, Namespace: "other", Name: "p"}, Decision{Time: at, Namespace: "ns", Name: "pp"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filePath(dir, decisionPrefix+"test", 1), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "p is not JSON\n{\"name\":\"p\"") // and a truncated line
	_ = f.Close()
	list, lineErrors, err := ReadDecisions(dir, "ns", "p")
	if err != nil || len(lineErrors) != 1 || len(list) != 2 || list[0].Action != "reject" || list[1].Node != "n1" || !list[1].Time.Equal(at.Add(time.Second)) {
		t.Errorf("got decisions %+v, line errors %v and error %v, want a rejection, then a binding, and one line error", list, lineErrors, err)
	}
	if got, lineErrors, err := Read(dir); len(got)+len(lineErrors) != 0 || err != nil {
		t.Errorf("got displacements %v, line errors %v and error %v, want none", got, lineErrors, err)
	}
}

func TestDecisionsSizeIsBounded(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDecisions(dir, Options{Writer: "test", FileBytes: 1000, Files: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i := range 100 {
		if err := d.Append(Decision{Namespace: "ns", Name: "p", Attempt: i}); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := listFiles(dir, decisionPrefix)
	if err != nil || len(paths) != 3 {
		t.Errorf("got files %v and error %v, want 3 files", paths, err)
	}
	if list, _, err := ReadDecisions(dir, "ns", "p"); err != nil || len(list) == 0 || list[len(list)-1].Attempt != 99 {
		t.Errorf("got %d decisions and error %v, want attempt 99 as the last", len(list), err)
	}
}
