package volume

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// A binding that stopped after any of its four writes is completed.
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
			runController(t, func(w *harness) { w.checkState("c Bound v; v Bound c") }, v, c)
		})
	}
}

// The smaller volume is created after the larger one was reserved.
func TestReservedVolumeIsPreferred(t *testing.T) {
	runController(t, func(w *harness) { w.checkState("c Bound v; small Available; v Bound c") },
		freeVolume("v", "", "5Gi", reserved("c", "uid-c")), freeVolume("small", "", "1Gi"), newClaim("c", "", "1Gi"))
}
