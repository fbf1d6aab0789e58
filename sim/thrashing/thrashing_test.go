package thrashing

import (
	"os"
	"strings"
	"testing"

	"github.com/berthproject/berth/sim/cluster"
)

// TestNoFutileMoves runs each case for 100 rounds. A plan evicts no pod that returns, and none
// once the goal is reached; the Kubernetes descheduler evicts pods that return. The test checks
// the table in docs/guides/descheduler.md, or writes it with BERTH_REWRITE.
func TestNoFutileMoves(t *testing.T) {
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	table, all, err := Table("testdata", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table)
	for _, c := range thrashingCases() {
		for i, variant := range Variants() {
			out := all[c.Name+"/"+variant.Name]
			planned := i < len(Variants())-1
			switch {
			case planned && (out.Returned > 0 || out.AfterGoal > 0):
				t.Errorf("%s, %s: got %+v, want no returned pod and no eviction after the goal", c.Name, variant.Name, out)
			case !planned && out.Returned == 0:
				t.Errorf("%s, %s: got %+v, want at least one returned pod", c.Name, variant.Name, out)
			case out.Pending > 0:
				t.Errorf("%s, %s: %d pods are pending, want 0", c.Name, variant.Name, out.Pending)
			}
		}
	}
	checkTable(t, table)
}

// checkTable checks the table between the markers in docs/guides/descheduler.md, or writes it with BERTH_REWRITE.
func checkTable(t *testing.T, table string) {
	const file, begin, end = "../../docs/guides/descheduler.md", "<!-- thrashing -->\n", "<!-- /thrashing -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, remainder, ok := strings.Cut(string(text), begin)
	current, after, closed := strings.Cut(remainder, end)
	if !ok || !closed {
		t.Fatalf("%s: want the markers %q and %q", file, begin, end)
	}
	if current == table {
		return
	}
	if os.Getenv("BERTH_REWRITE") == "" {
		t.Fatalf("%s has a different table (BERTH_REWRITE=1 updates it):\n%s", file, current)
	}
	if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
