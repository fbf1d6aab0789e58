package volume

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// TestPartialBindingIsCompleted checks that a binding that stopped after any of its four writes is completed.
func TestPartialBindingIsCompleted(t *testing.T) {
	for done := range 5 {
		t.Run(fmt.Sprint(done, " of 4 writes"), func(t *testing.T) {
			v, c := freeVolume("v", "", "1Gi"), newClaim("c", "", "1Gi")
			for _, write := range []func(){
				func() { reserved("c", "uid-c")(v) },
				func() { v.Status.Phase = corev1.VolumeBound },
				func() {
					c.Spec.VolumeName = "v"
					metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
				},
				func() { c.Status.Phase = corev1.ClaimBound },
			}[:done] {
				write()
			}
			runController(t, func(h *harness) { h.checkState("c Bound v; v Bound c") }, v, c)
		})
	}
}

// TestReservedVolumeIsPreferred checks that a claim is bound to the volume that is reserved for it, although a
// smaller one matches.
func TestReservedVolumeIsPreferred(t *testing.T) {
	runController(t, func(h *harness) { h.checkState("c Bound v; small Available; v Bound c") },
		freeVolume("v", "", "5Gi", reserved("c", "uid-c")), freeVolume("small", "", "1Gi"), newClaim("c", "", "1Gi"))
}
