package workload

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/controllers/runner"
)

// TestPendingWritesAreOrdered checks that a reconcile does not depend on the order of a map, so that simulations are
// reproducible.
func TestPendingWritesAreOrdered(t *testing.T) {
	w := newPendingWrites(runner.Production())
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("a%02d", i)
		want = append(want, name)
		w.expectCreate("owner-1", pod(name, "web"))
		p := pod("d"+name, "web")
		p.UID = types.UID(p.Name)
		w.expectDelete("owner-1", p)
	}
	var overlaid, creates, deletes []string
	for _, p := range w.overlay("owner-1", nil) {
		overlaid = append(overlaid, p.Name)
	}
	c, d := w.olderThan("owner-1", w.clock.Now().AddDate(1, 0, 0))
	for i := range c {
		creates, deletes = append(creates, c[i].Name), append(deletes, d[i].name.Name[1:])
	}
	for _, got := range [][]string{overlaid, creates, deletes} {
		if !slices.Equal(got, want) {
			t.Errorf("pending writes in the order %q, want %q", got, want)
		}
	}
}
