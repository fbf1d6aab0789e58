package conversion

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestPressureQuantityFormat checks upstream's format of whole quantities.
func TestPressureQuantityFormat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	units := []int64{1, 1000, 1024, 1000 * 1000, 1 << 20, 1e9, 1 << 30, 1e12, 1 << 40}
	for range 20000 {
		n := r.Int64N(5000) * units[r.IntN(len(units))]
		if r.IntN(4) == 0 {
			n = -n
		}
		for _, f := range []resource.Format{resource.BinarySI, resource.DecimalSI, resource.DecimalExponent} {
			q := *resource.NewQuantity(n, f)
			if got := PressureQuantity(q).String(); got != q.String() {
				t.Fatalf("%d as %s: got %q, want %q", n, f, got, q.String())
			}
		}
	}
}
