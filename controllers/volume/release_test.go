package volume

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

func reclaimPolicy(p corev1.PersistentVolumeReclaimPolicy, provisioner string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeReclaimPolicy = p
		if provisioner != "" {
			metav1.SetMetaDataAnnotation(&v.ObjectMeta, volume.AnnDynamicallyProvisioned, provisioner)
		}
	}
}

func (h *harness) deleteClaim(name string) {
	if err := h.api.CoreV1().PersistentVolumeClaims("ns").Delete(h.ctx, name, metav1.DeleteOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

func TestReclaimPolicy(t *testing.T) {
	runController(t, func(h *harness) {
		h.checkState("c1 Bound retained; c2 Bound static; c3 Bound dynamic; dynamic Bound c3; retained Bound c1; static Bound c2")
		for _, c := range []string{"c1", "c2", "c3"} {
			h.deleteClaim(c)
		}
		h.checkState("dynamic Released c3; retained Released c1; static Failed c2")
		h.checkEvent("static", "VolumeFailedDelete: error getting deleter volume plugin for volume \"static\": no deletable volume plugin matched")
		// A new claim of the same name does not get the volume of the old one.
		if _, err := h.api.CoreV1().PersistentVolumeClaims("ns").Create(h.ctx, newClaim("c1", "", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.UID = "new" }), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		h.checkState("c1 Pending; dynamic Released c3; retained Released c1; static Failed c2")
	}, freeVolume("retained", "", "1Gi"), freeVolume("static", "", "2Gi", reclaimPolicy(corev1.PersistentVolumeReclaimDelete, "")),
		freeVolume("dynamic", "", "3Gi", reclaimPolicy(corev1.PersistentVolumeReclaimDelete, "csi.example.com")),
		newClaim("c1", "", "1Gi"), newClaim("c2", "", "2Gi"), newClaim("c3", "", "3Gi"))
}

func TestClaimInUseIsProtected(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{NodeName: "n1", Volumes: []corev1.Volume{{Name: "v",
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}}}
	runController(t, func(h *harness) {
		h.checkState("c Bound v; v Bound c")
		h.deleteClaim("c")
		h.checkState("c Bound v; v Bound c")
		if err := h.api.CoreV1().Pods("ns").Delete(h.ctx, "p", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(maxRecheckInterval)
		h.checkState("v Released c")
	}, freeVolume("v", "", "1Gi"), newClaim("c", "", "1Gi"), pod)
}

func TestBoundVolumeIsProtected(t *testing.T) {
	runController(t, func(h *harness) {
		h.checkState("c Bound v; free Available; v Bound c")
		for _, v := range []string{"v", "free"} {
			if err := h.api.CoreV1().PersistentVolumes().Delete(h.ctx, v, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		h.checkState("c Bound v; v Bound c")
		h.deleteClaim("c")
		h.checkState("")
	}, freeVolume("v", "", "1Gi"), freeVolume("free", "x", "1Gi"), newClaim("c", "", "1Gi"))
}

func TestClaimLost(t *testing.T) {
	runController(t, func(h *harness) {
		h.checkState("c Bound v; v Bound c")
		v := h.volume("v")
		v.Finalizers = nil
		if _, err := h.api.CoreV1().PersistentVolumes().Update(h.ctx, v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := h.api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("persistentvolumes"), "", "v"); err != nil {
			t.Fatal(err)
		}
		h.checkState("c Lost v")
		h.checkEvent("c", "ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	}, freeVolume("v", "", "1Gi"), newClaim("c", "", "1Gi"))
}

// TestSecondVolumeIsUnbound checks that if two volumes are reserved for one claim, the volume that the claim does not
// name becomes available.
func TestSecondVolumeIsUnbound(t *testing.T) {
	runController(t, func(h *harness) {
		h.checkState("a Bound c; b Available; c Bound a")
		if _, byController := h.volume("b").Annotations[volume.AnnBoundByController]; byController {
			t.Error("the volume has the reservation annotation, want it removed")
		}
	}, freeVolume("a", "", "1Gi", reserved("c", "uid-c")), freeVolume("b", "", "1Gi", reserved("c", "uid-c")), newClaim("c", "", "1Gi"))
}
