package workload

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// TestDeathsOnNodesThatAreGoneAreForgotten: nobody asks of them any more.
func TestDeathsOnNodesThatAreGoneAreForgotten(t *testing.T) {
	d, now := NewDeaths(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1000 {
		now = now.Add(time.Minute)
		d.Add("ds", fmt.Sprint("n", i), types.UID(fmt.Sprint("p", i)), workload.Death{Died: now})
	}
	if n := int(forgotten/time.Minute) + 1; len(d.of) != n {
		t.Errorf("it knows of %d places, want those of an hour, %d", len(d.of), n)
	}
	if got := d.At("ds", "n999", now); len(got) != 1 {
		t.Errorf("of the last one it knows %v", got)
	}
	if got := d.At("ds", "n999", now.Add(2*forgotten)); len(got) != 0 {
		t.Errorf("two hours later it knows %v", got)
	}
}
